#ifndef MUSTER_SERVER_CORE_STORE_OPERATIONS_H_
#define MUSTER_SERVER_CORE_STORE_OPERATIONS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "server/core/store/context.h"
#include "server/core/store/evaluator.h"
#include "server/core/store/placement.h"
#include "server/core/store/watches.h"
#include "server/core/support/deadlines.h"

namespace muster::core::store {

// The operations that are not answered, and what they wait for: that their client may be served,
// that a key changes, or that a holder confirms the change that the answer depends on (K5).
class Operations {
 public:
  Operations(Context* context, Slots* slots, Placement* placement, Watches* watches)
      : context_(*context),
        slots_(*slots),
        placement_(*placement),
        watches_(*watches),
        evaluator_(context, slots, placement, watches) {}

  // Returns INVALID_ARGUMENT if the id is not above the ids that came before on the stream.
  absl::Status Receive(Client* client, const StoreOperation& request);
  void Cancel(Client* client, const StoreCancel& cancel);
  // Serves the operations of a client that have waited until it may be served.
  void ServeAll(Client* client);
  // Forgets the operations of a stream that has ended (K2).
  void RemoveAll(Client* client);

  // Notes that the client will not repeat the operation, so that its result is not needed (K3).
  void Acknowledge(Client* client, uint64_t operation);
  // Notes all of the client's operations that are acknowledged by its claim.
  void AcknowledgeClaimed(Client* client);
  // Forgets the results of a client that is lost.
  void ForgetResults(Client* client);
  // Notes the results in an entry that a restarted daemon has fetched.
  void AdoptResults(Slot* slot);

  // Looks again at the operations that wait for the slot, because it has changed.
  void Wake(Slot* slot);
  // Sends the answers that depend on the slot and are safe now.
  void Release(Slot* slot);

  Time NextDeadline() const { return deadlines_.Next(); }
  void TimeOut();

  // Returns the operations that wait for keys, by age.
  const std::map<uint64_t, ParkedOperation*>& all() const { return by_serial_; }
  // Returns the oldest operation that waits for a key, an element or other arrivals, or null.
  const ParkedOperation* OldestWait() const;
  std::string DescribeMissing(const ParkedOperation& operation) const {
    return evaluator_.DescribeMissing(operation);
  }

 private:
  bool MayServe(const Client& client) const {
    return context_.serving && context_.clients.IsKnown(client);
  }
  void Serve(ParkedOperation* operation);
  Outcome Look(ParkedOperation* operation);
  void Finish(ParkedOperation* operation, Outcome outcome);
  // Ends the wait of an operation with an error, unless a change of it will be answered.
  void GiveUp(ParkedOperation* operation);
  absl::Status Missed(const ParkedOperation& operation) const;
  void AwaitHolders(ParkedOperation* operation);
  void Answer(ParkedOperation* operation, StoreAnswer answer);
  void Remove(ParkedOperation* operation);
  void Unpark(ParkedOperation* operation);

  Context& context_;
  Slots& slots_;
  Placement& placement_;
  Watches& watches_;
  Evaluator evaluator_;
  std::map<uint64_t, ParkedOperation*> by_serial_;
  Deadlines<uint64_t> deadlines_;  // by serial
  uint64_t serials_ = 0;
};

}  // namespace muster::core::store

#endif  // MUSTER_SERVER_CORE_STORE_OPERATIONS_H_
