#ifndef MUSTER_SERVER_CORE_STORE_STORE_H_
#define MUSTER_SERVER_CORE_STORE_STORE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/core/api/job_status.h"
#include "server/core/store/context.h"
#include "server/core/store/operations.h"
#include "server/core/store/placement.h"
#include "server/core/store/recovery.h"
#include "server/core/store/slots.h"
#include "server/core/store/watches.h"
#include "server/core/support/deadlines.h"

namespace muster::core::store {

// The job's key-value store, as docs/store.md describes it: a state machine without I/O. Messages
// of clients and the time go in, messages to clients come out.
//
//   Store store(options, &budget);
//   store.Begin(now);
//   store.Receive(stream, request);        // or StreamClosed, Left, NoteEnded
//   Effects effects = store.End();
//   if (store.NextDeadline() <= now) ...   // a step without an input
//
// A stream begins with its first message, and ends with StreamClosed or Left, or with a StreamEnd
// among the effects. A new daemon needs nothing but the claims of the clients.
//
// Not thread-safe. `now` must not go back.
class Store {
 public:
  // `budget` must outlive the store.
  Store(const Options& options, ByteBudget* budget) : context_(options, budget) {}

  void Begin(Time now) { context_.now = now; }
  void Receive(WaiterId stream, const StoreRequest& request);
  // Returns false if there is no such stream.
  bool StreamClosed(WaiterId stream);
  // The client's part in the job has ended.
  void Left(WaiterId stream);
  // The process has ended: "killed by signal 9 (SIGKILL)".
  void NoteEnded(const Incarnation& client, absl::string_view why);
  // Ends all streams with this status.
  void Drain(const absl::Status& status);
  Effects End();

  Time NextDeadline() const;
  // Returns whether no client has ever come.
  bool unused() const { return context_.clients.list().size() == 0 && opening_.empty(); }

  // Returns what clients wait for: keys, elements, arrivals. The longest wait comes first.
  // `rank_of` returns the rank that a process has in the job. A process that has none there yet
  // counts with the rank that its client has named.
  using RankOf = absl::FunctionRef<std::optional<uint32_t>(const Incarnation&)>;
  std::vector<StoreWaiters> Waits(Time now, RankOf rank_of) const;
  // The longest wait of one client: "key 'a' has not been set", and since when.
  struct Wait {
    std::string missing;
    Time since;
  };
  // Returns nullopt if the client is not known, or does not wait.
  std::optional<Wait> WaitOf(const Incarnation& client) const;

  const Context& context() const { return context_; }
  const Slots& slots() const { return slots_; }
  const Operations& operations() const { return operations_; }

 private:
  // A stream whose claim is not complete.
  struct Opening {
    StoreOpen open;
    StoreClaim claim;
    ByteCharge charge;
  };

  absl::Status Take(WaiterId stream, const StoreOpen& open);
  absl::Status Take(WaiterId stream, const StoreClaim& claim);
  absl::Status Take(WaiterId stream, const StoreOperation& operation);
  absl::Status Take(WaiterId stream, const StoreCancel& cancel);
  absl::Status Take(WaiterId stream, const StoreConfirm& confirm);
  absl::Status Take(WaiterId stream, const StoreEntries& entries);
  absl::StatusOr<Client*> ClientOf(WaiterId stream) const;
  void Reject(WaiterId stream, absl::Status why);

  absl::Status Attach(WaiterId stream, const StoreOpen& open, const StoreClaim& claim);
  absl::Status Admit(const StoreOpen& open) const;
  void Merge(const StoreOpen& open, const StoreClaim& claim);
  void Welcome(Client* client, const StoreClaim& claim);
  void Detach(Client* client);
  // Loses the client. Its stream ends with `end`; OK means that it has left.
  void Lose(Client* client, absl::string_view why, const absl::Status& end);
  void Confirm(Client* client, const Sent& sent);

  void Advance();
  bool AdvanceOnce();
  void Settle(Slot* slot);
  void TellAll();

  Context context_;
  Slots slots_{context_.budget};
  Placement placement_{&context_, &slots_};
  Watches watches_{&context_, &slots_, &placement_};
  Operations operations_{&context_, &slots_, &placement_, &watches_};
  Recovery recovery_{&context_, &slots_, &placement_, &operations_};
  absl::flat_hash_map<WaiterId, Opening> opening_;
  Deadlines<Incarnation> graces_;  // of detached clients
  size_t told_all_ = 0;            // the news of the list that all streams have
  std::set<Incarnation> ended_;    // processes whose end was reported before the claims came
};

}  // namespace muster::core::store

#endif  // MUSTER_SERVER_CORE_STORE_STORE_H_
