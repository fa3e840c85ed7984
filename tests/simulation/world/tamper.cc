#include "tests/simulation/world/tamper.h"

#include <cstdint>
#include <string>
#include <variant>

#include "tests/simulation/world/collective_context.h"

namespace muster::simulation {
namespace {

constexpr double kOften = 0.2;

uint64_t Huge(Random* random) {
  static constexpr uint64_t kNumbers[] = {~uint64_t{0}, ~uint64_t{0} - 1, uint64_t{1} << 63,
                                          uint64_t{1} << 62, (uint64_t{1} << 62) - 1};
  return kNumbers[random->Pick(5)];
}

std::string Noisy(Random* random) {
  static constexpr const char* kPieces[] = {"x", "\n", "\x1b[2J", "\xc3\xa9", "\r\t"};
  const std::string piece = kPieces[random->Pick(5)];
  std::string text;
  for (uint32_t pieces = 1 + random->Pick(10'000); pieces > 0; --pieces) text += piece;
  return text;
}

void TamperClaim(Random* random, v1::Claim* claim) {
  if (random->Chance(kOften)) claim->set_highest_token(Huge(random));
  if (random->Chance(kOften)) claim->set_highest_epoch_number(Huge(random));
  if (claim->groups_size() > 0 && random->Chance(kOften)) {
    v1::GroupClaim* group = claim->mutable_groups(random->Pick(claim->groups_size()));
    random->Chance(0.5) ? group->set_next_sequence(Huge(random))
                        : group->set_finished(Noisy(random));
  }
  if (claim->known_groups_size() > 0 && random->Chance(kOften)) {
    v1::KnownGroup* group = claim->mutable_known_groups(random->Pick(claim->known_groups_size()));
    switch (random->Pick(4)) {
      case 0:
        group->set_next_sequence(Huge(random));
        break;
      case 1:
        group->set_digest(Noisy(random).substr(0, 16));
        break;
      case 2:
        group->set_released(!group->released());
        break;
      default:
        group->set_closed(!group->closed());
    }
  }
  if (claim->has_epoch() && random->Chance(kOften)) {
    claim->mutable_broken()->set_reason(Noisy(random));
  }
}

void TamperCollective(Random* random, v1::CollectiveContext* context) {
  if (random->Chance(kOften)) context->set_sequence(Huge(random));
  if (random->Chance(kOften)) context->set_call_site(Noisy(random));
}

void TamperWith(Random* random, v1::RejoinRequest* r) { TamperClaim(random, r->mutable_claim()); }
void TamperWith(Random* random, v1::ReleaseGroupsRequest* r) {
  if (r->released_size() > 0 && random->Chance(kOften)) {
    r->mutable_released(0)->set_next_sequence(Huge(random));
  }
  if (r->released_size() > 0 && random->Chance(kOften)) r->add_closed(r->released(0).digest());
  if (random->Chance(kOften)) r->add_closed(Noisy(random));
}
void TamperWith(Random* random, v1::ReportCommitsRequest* r) {
  if (r->groups_size() == 0 || r->groups(0).commits_size() == 0) return;
  v1::NodeCommit* const commit = r->mutable_groups(0)->mutable_commits(0);
  if (random->Chance(kOften)) commit->set_label(Noisy(random));
  if (random->Chance(kOften)) commit->add_delays()->set_seconds(static_cast<int64_t>(Huge(random)));
  if (random->Chance(kOften)) commit->set_sequence(Huge(random));
}
void TamperWith(Random* random, v1::JoinRequest* r) {
  if (random->Chance(kOften)) r->set_topology(Noisy(random));
}
template <typename Other>
void TamperWith(Random* random, Other* r) {
  if constexpr (kIsCollective<Other>) TamperCollective(random, r->mutable_context());
}

}  // namespace

void Tamper(Random* random, v1::AttachRequest* request) {
  TamperClaim(random, request->mutable_claim());
  if (random->Chance(kOften)) request->set_sdk_version(Noisy(random));
}

void Tamper(Random* random, internal::Request* request) {
  std::visit([random](auto& r) { TamperWith(random, &r); }, *request);
}

}  // namespace muster::simulation
