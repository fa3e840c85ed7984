#include "tests/fuzz/promises/number_oracle.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/credentials/process_secret.h"
#include "server/core/coordinator.h"
#include "server/service/conversion/request_conversion.h"

namespace muster::fuzz {
namespace {

v1::AttachRequest AttachOf(const core::Options& options, const v1::MemberIdentity& member) {
  v1::AttachRequest request;
  request.set_job_id(options.job_id);
  *request.mutable_member() = member;
  request.set_protocol_version(core::kProtocolVersion);
  return request;
}

uint64_t Micros(core::Time now) { return static_cast<uint64_t>(absl::ToUnixMicros(now)); }

}  // namespace

void NumberOracle::Restart() {
  formed_.clear();
  highest_epoch_ = highest_token_ = 0;
  grants_.clear();
  ++options_.instance;
}

std::string NumberOracle::CheckEpoch(core::Time now, const v1::JoinResponse& place) {
  if (formed_.count(place.epoch().nonce()) == 0) return "";
  if (!seen_.insert(place.epoch().nonce()).second) return "";
  const uint64_t number = place.epoch().number();
  const uint64_t before = std::exchange(highest_epoch_, number);
  if (number <= before || number < Micros(now)) {
    return absl::StrCat("epoch ", number, " is formed after ", before, " at ", Micros(now));
  }
  v1::AttachRequest request = AttachOf(options_, place.roster(place.rank()).member());
  *request.mutable_claim()->mutable_epoch() = place.epoch();
  request.mutable_claim()->set_rank(place.rank());
  *request.mutable_claim()->mutable_roster() = place.roster();
  request.mutable_claim()->set_highest_epoch_number(number);
  return CheckClaimable(now, request);
}

std::string NumberOracle::CheckGrant(core::Time now, const LeaseRequest& asked, uint64_t token) {
  // A grant of an earlier daemon stays valid, and may be answered again, if its holder claims it.
  if ((token ^ options_.instance) % (uint64_t{1} << core::kTokenShift) != 0) return "";
  const auto [grant, is_new] = grants_.try_emplace(token, asked);
  if (!is_new) {
    return grant->second == asked ? "" : absl::StrCat("token ", token, " is granted twice");
  }
  const uint64_t before = std::exchange(highest_token_, token);
  if (token <= before || token < Micros(now)) {
    return absl::StrCat("token ", token, " is granted after ", before, " at ", Micros(now));
  }
  v1::MemberIdentity member;
  member.set_incarnation(std::string(16, 'p'));
  member.set_node_id("n");
  v1::AttachRequest request = AttachOf(options_, member);
  request.mutable_claim()->set_highest_token(token);
  return CheckClaimable(now, request);
}

std::string NumberOracle::CheckClaimable(core::Time now, const v1::AttachRequest& request) const {
  core::Coordinator successor(options_);
  // The secret proves the name, and only the member has it. So use a secret of this test, and set
  // the name after that check.
  v1::AttachRequest own = request;
  own.set_secret(std::string(kProcessSecretBytes, 'p'));
  own.mutable_member()->set_incarnation(IncarnationOf(own.secret()));
  core::AttachRequest attach = *service::FromProto(std::move(own));
  attach.member.incarnation = request.member().incarnation();
  const core::Effects effects = successor.Step(now, 1, attach);
  if (effects.ends.empty()) return "";
  return absl::StrCat("what a daemon has given out is refused by its successor: ",
                      effects.ends[0].status.ToString());
}

}  // namespace muster::fuzz
