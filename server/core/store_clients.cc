// The job's side of the store: which processes may have a client, and which have ended.

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/core/api/describe.h"
#include "server/core/api/validation.h"
#include "server/core/coordinator_impl.h"

namespace muster::core {

store::Options StoreOptionsOf(const Options& options) {
  store::Options out;
  out.daemon_instance = options.instance;
  out.young_until = options.store.young_until;
  // The launchers of an elastic job may have clients of earlier epochs.
  out.world_size = options.min_world_size == 0 ? options.world_size : 0;
  out.member_grace = options.member_grace;
  out.recovery_grace = options.recovery_grace;
  out.default_wait_timeout = options.default_wait_timeout;
  out.max_key_bytes = options.store.max_key_bytes;
  out.max_value_bytes = options.store.max_value_bytes;
  out.max_entry_bytes = options.store.max_entry_bytes();
  out.max_keys = options.store.max_keys;
  out.max_operations = options.limits.max_waiters_per_member;
  out.max_clients = size_t{8} * options.limits.max_members;
  out.answers_wait_for_copy = options.store.answers_wait_for_copy;
  return out;
}

absl::Status Coordinator::Impl::CheckStoreRequest(const StoreRequest& request) const {
  if (job_.draining) return absl::UnavailableError(*job_.draining);
  const auto* const open = std::get_if<StoreOpen>(&request.message);
  if (open == nullptr) return absl::OkStatus();
  if (open->job_id.empty()) return absl::InvalidArgumentError("job_id is empty");
  if (absl::Status s = job_.CheckJob(open->job_id); !s.ok()) return s;
  if (open->incarnation.size() != kIncarnationBytes) {
    return absl::InvalidArgumentError(absl::StrCat("incarnation has ", open->incarnation.size(),
                                                   " bytes; expected ", kIncarnationBytes));
  }
  if (open->protocol_version != kProtocolVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("the client speaks version ", open->protocol_version,
                     " of the protocol; the daemon speaks version ", kProtocolVersion));
  }
  return ValidateName("node", open->node, job_.options.limits.max_name_bytes);
}

void Coordinator::Impl::Take(WaiterId stream, const StoreRequest& request) {
  if (absl::Status s = CheckStoreRequest(request); !s.ok()) {
    store_.StreamClosed(stream);
    return job_.out.EndStream(stream, s);
  }
  store_.Receive(stream, request);
}

void Coordinator::Impl::Take(WaiterId stream, const StoreLeft&) { store_.Left(stream); }

absl::Status Coordinator::Impl::Receive(WaiterId waiter, const ExitReport& report) {
  absl::Status s = membership_.Receive(waiter, report);
  if (s.ok() && report.started) {
    store_.NoteEnded(report.incarnation, DescribeExit(report.signaled, report.code));
  }
  return s;
}

// A member of the epoch may be lost although its process lives. Its store client then ends, too.
void Coordinator::Impl::LoseStoreClients() {
  if (known_losses_ == job_.tally.counters.losses) return;
  known_losses_ = job_.tally.counters.losses;
  if (store_.unused()) return;
  std::vector<const Member*> lost;  // in the order of the clients, which no hash table decides
  for (const auto& [incarnation, client] : store_.context().clients.all()) {
    const Member* const member = members_.Find(incarnation);
    if (member != nullptr && member->lost()) lost.push_back(member);
  }
  for (const Member* member : lost) store_.NoteEnded(member->incarnation(), member->lost()->cause);
}

void Coordinator::Impl::TakeStoreEffects(Effects* effects) {
  store::Effects from_store = store_.End();
  for (StoreMessage& message : from_store.messages) {
    auto* const answer = std::get_if<StoreAnswer>(&message.message);
    if (answer != nullptr && !answer->error.ok()) answer->error = job_.out.WithJob(answer->error);
  }
  effects->store = std::move(from_store.messages);
  for (const StreamEnd& end : from_store.ends) job_.out.EndStream(end.stream, end.status);
  for (LogLine& line : from_store.log) job_.Log(line.severity, std::move(line.text));
  Effects more = job_.out.Take();
  effects->ends.insert(effects->ends.end(), more.ends.begin(), more.ends.end());
  effects->log.insert(effects->log.end(), more.log.begin(), more.log.end());
}

}  // namespace muster::core
