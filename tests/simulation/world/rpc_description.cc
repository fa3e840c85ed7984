#include "tests/simulation/world/rpc_description.h"

#include <variant>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/rpc/rpcs.h"
#include "tests/simulation/world/collective_context.h"
#include "tests/simulation/world/simulated_network.h"

namespace muster::simulation {
namespace {

std::string Describe(const v1::GroupClaim& claim) {
  return absl::StrCat("'", claim.group().name(), "' at ", claim.next_sequence(),
                      claim.finished().empty() ? "" : " (finished)");
}

// Escapes a digest as protobuf prints it in events.
std::string Describe(const std::string& digest) { return absl::CHexEscape(digest.substr(0, 4)); }

std::string Describe(const v1::KnownGroup& claim) {
  return absl::StrCat(Describe(claim.digest()), " at ", claim.next_sequence(),
                      claim.finished().empty() ? "" : " (finished)",
                      claim.released() ? " (let go)" : "", claim.closed() ? " (closed)" : "");
}

// Summarizes what the process knows.
std::string Describe(const v1::Claim& claim) {
  std::string words =
      claim.has_epoch() ? absl::StrCat("rank ", claim.rank(), " of epoch ", claim.epoch().number())
                        : "no epoch";
  for (const v1::GroupClaim& group : claim.groups()) absl::StrAppend(&words, ", ", Describe(group));
  for (const v1::KnownGroup& group : claim.known_groups()) {
    absl::StrAppend(&words, ", ", Describe(group));
  }
  for (const v1::HeldLease& held : claim.held_leases()) {
    absl::StrAppend(&words, ", holds '", held.name(), "' by token ", held.token());
  }
  for (const v1::CompletedLease& done : claim.completed_leases()) {
    absl::StrAppend(&words, ", done: '", done.name(), "' by token ", done.result().token());
  }
  return absl::StrCat(words, claim.has_broken() ? ", broken" : "",
                      claim.leaving() ? ", leaving" : "", claim.stop_asked() ? ", stop asked" : "");
}

std::string Describe(const char* kind, const v1::CollectiveContext& context) {
  return absl::StrCat(kind, "('", context.label(), "') op ", context.sequence(), " of ",
                      context.group().name().empty() ? "the world" : context.group().name());
}

std::string Describe(const v1::AttachRequest& r) {
  return absl::StrCat("Attach, claims ", Describe(r.claim()));
}
std::string Describe(const v1::RejoinRequest& r) {
  return absl::StrCat("Rejoin, claims ", Describe(r.claim()));
}
std::string Describe(const v1::AcquireLeaseRequest& r) {
  return absl::StrCat("AcquireLease '", r.name(), "', request ", r.request_id());
}
std::string Describe(const v1::CompleteLeaseRequest& r) {
  return absl::StrCat("CompleteLease '", r.name(), "', token ", r.result().token());
}
std::string Describe(const v1::AbandonLeaseRequest& r) {
  return absl::StrCat("AbandonLease '", r.name(), "', request ", r.request_id());
}
std::string Describe(const v1::NodeCollectiveRequest& r) {
  const auto add = [](std::string* out, const v1::NodeArrival& part) {
    absl::StrAppend(out, "session ", part.session().counter(), " attempt ", part.attempt());
  };
  return absl::StrCat(Describe("NodeCollective", r.context()), " for ",
                      absl::StrJoin(r.parts(), ", ", add));
}
std::string Describe(const v1::ReleaseGroupsRequest& r) {
  std::string words = "ReleaseGroups";
  for (const v1::ReleasedGroup& group : r.released()) {
    absl::StrAppend(&words, ", let go: ", Describe(group.digest()), " at ", group.next_sequence());
  }
  for (const std::string& digest : r.closed()) {
    absl::StrAppend(&words, ", closed: ", Describe(digest));
  }
  return words;
}
std::string Describe(const v1::ReportCommitsRequest& r) {
  std::string words = "ReportCommits";
  for (const v1::GroupCommits& group : r.groups()) {
    absl::StrAppend(&words, " of ",
                    group.group().name().empty() ? "the world" : group.group().name(), ":");
    for (const v1::NodeCommit& commit : group.commits()) {
      absl::StrAppend(&words, " op ", commit.sequence());
    }
  }
  return words;
}
std::string Describe(const v1::WithdrawArrivalRequest& r) {
  return absl::StrCat("WithdrawArrival op ", r.sequence(), " of ",
                      r.group().name().empty() ? "the world" : r.group().name());
}
template <typename Other>
std::string Describe(const Other& r) {
  const v1::CollectiveContext* const context = CollectiveContextOf(r);
  return context == nullptr ? Rpc<Other>::kName : Describe(Rpc<Other>::kName, *context);
}

}  // namespace

std::string Describe(const SentRpc& rpc) {
  const auto* attach = std::get_if<v1::AttachRequest>(&rpc.request);
  const std::string what = attach != nullptr
                               ? Describe(*attach)
                               : std::visit([](const auto& request) { return Describe(request); },
                                            std::get<internal::Request>(rpc.request));
  return absl::StrCat("process ", rpc.process, ", attempt ", rpc.attempt,
                      rpc.duplicate ? " again: " : ": ", what);
}

std::string Describe(const v1::AttachResponse& response) { return response.ShortDebugString(); }

}  // namespace muster::simulation
