#include "tests/simulation/wire_words.h"

#include <variant>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/rpcs.h"
#include "tests/simulation/collective_context.h"
#include "tests/simulation/simulated_network.h"

namespace muster::simulation {
namespace {

std::string Words(const v1::GroupClaim& claim) {
  return absl::StrCat("'", claim.group().name(), "' at ", claim.next_sequence(),
                      claim.finished().empty() ? "" : " (finished)");
}

// Escapes a digest as protobuf prints it in events.
std::string Words(const std::string& digest) { return absl::CHexEscape(digest.substr(0, 4)); }

std::string Words(const v1::KnownGroup& claim) {
  return absl::StrCat(Words(claim.digest()), " at ", claim.next_sequence(),
                      claim.finished().empty() ? "" : " (finished)",
                      claim.released() ? " (let go)" : "", claim.closed() ? " (closed)" : "");
}

// Summarizes what the process knows.
std::string Words(const v1::Claim& claim) {
  std::string words =
      claim.has_epoch() ? absl::StrCat("rank ", claim.rank(), " of epoch ", claim.epoch().number())
                        : "no epoch";
  for (const v1::GroupClaim& group : claim.groups()) absl::StrAppend(&words, ", ", Words(group));
  for (const v1::KnownGroup& group : claim.known_groups()) {
    absl::StrAppend(&words, ", ", Words(group));
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

std::string Words(const char* kind, const v1::CollectiveContext& context) {
  return absl::StrCat(kind, "('", context.label(), "') op ", context.sequence(), " of ",
                      context.group().name().empty() ? "the world" : context.group().name());
}

std::string Words(const v1::AttachRequest& r) {
  return absl::StrCat("Attach, claims ", Words(r.claim()));
}
std::string Words(const v1::RejoinRequest& r) {
  return absl::StrCat("Rejoin, claims ", Words(r.claim()));
}
std::string Words(const v1::AcquireLeaseRequest& r) {
  return absl::StrCat("AcquireLease '", r.name(), "', request ", r.request_id());
}
std::string Words(const v1::CompleteLeaseRequest& r) {
  return absl::StrCat("CompleteLease '", r.name(), "', token ", r.result().token());
}
std::string Words(const v1::AbandonLeaseRequest& r) {
  return absl::StrCat("AbandonLease '", r.name(), "', request ", r.request_id());
}
std::string Words(const v1::NodeCollectiveRequest& r) {
  const auto add = [](std::string* out, const v1::NodeArrival& part) {
    absl::StrAppend(out, "session ", part.session().counter(), " attempt ", part.attempt());
  };
  return absl::StrCat(Words("NodeCollective", r.context()), " for ",
                      absl::StrJoin(r.parts(), ", ", add));
}
std::string Words(const v1::ReleaseGroupsRequest& r) {
  std::string words = "ReleaseGroups";
  for (const v1::ReleasedGroup& group : r.released()) {
    absl::StrAppend(&words, ", let go: ", Words(group.digest()), " at ", group.next_sequence());
  }
  for (const std::string& digest : r.closed()) {
    absl::StrAppend(&words, ", closed: ", Words(digest));
  }
  return words;
}
std::string Words(const v1::WithdrawArrivalRequest& r) {
  return absl::StrCat("WithdrawArrival op ", r.sequence(), " of ",
                      r.group().name().empty() ? "the world" : r.group().name());
}
template <typename Other>
std::string Words(const Other& r) {
  const v1::CollectiveContext* const context = CollectiveContextOf(r);
  return context == nullptr ? Rpc<Other>::kName : Words(Rpc<Other>::kName, *context);
}

}  // namespace

std::string Words(const SentRpc& rpc) {
  const auto* attach = std::get_if<v1::AttachRequest>(&rpc.request);
  const std::string what = attach != nullptr
                               ? Words(*attach)
                               : std::visit([](const auto& request) { return Words(request); },
                                            std::get<internal::Request>(rpc.request));
  return absl::StrCat("process ", rpc.process, ", attempt ", rpc.attempt,
                      rpc.duplicate ? " again: " : ": ", what);
}

std::string Words(const v1::AttachResponse& response) { return response.ShortDebugString(); }

}  // namespace muster::simulation
