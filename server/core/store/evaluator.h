#ifndef MUSTER_SERVER_CORE_STORE_EVALUATOR_H_
#define MUSTER_SERVER_CORE_STORE_EVALUATOR_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/core/store/context.h"
#include "server/core/store/placement.h"
#include "server/core/store/watches.h"

namespace muster::core::store {

// The outcome of a look at an operation.
struct Outcome {
  StoreAnswer answer;         // meaningful if the operation does not wait
  Slot* waits_for = nullptr;  // the operation waits until this slot changes
  Slot* changed = nullptr;    // the operation has changed this slot
  bool sets_value = false;    // the changed entry is the value that the operation carries
  std::vector<std::pair<Slot*, uint64_t>> depends_on;  // revisions that the answer depends on
};

// Carries out operations on entries. An operation that is refused has changed nothing.
class Evaluator {
 public:
  Evaluator(Context* context, Slots* slots, Placement* placement, Watches* watches)
      : context_(*context), slots_(*slots), placement_(*placement), watches_(*watches) {}

  Outcome Evaluate(const ParkedOperation& operation);
  // Returns the first result of an operation that is recorded in the slot (K3).
  Outcome Repeat(const ParkedOperation& operation, Slot* slot) const;
  // Returns the outcome of an operation that is not carried out.
  static Outcome Refuse(absl::Status why);
  // Returns a text for an operation that has waited in vain.
  std::string DescribeMissing(const ParkedOperation& operation) const;

 private:
  Outcome Run(const ParkedOperation& by, const StoreSet& set);
  Outcome Run(const ParkedOperation& by, const StoreGet& get);
  Outcome Run(const ParkedOperation& by, const StoreWait& wait);
  Outcome Run(const ParkedOperation& by, const StoreAdd& add);
  Outcome Run(const ParkedOperation& by, const StoreCompareAndSet& change);
  Outcome Run(const ParkedOperation& by, const StoreAppend& append);
  Outcome Run(const ParkedOperation& by, const StoreDelete& deletion);
  Outcome Run(const ParkedOperation& by, const StoreList& list);
  Outcome Run(const ParkedOperation& by, const StoreCount& count);
  Outcome Run(const ParkedOperation& by, const StorePush& push);
  Outcome Run(const ParkedOperation& by, const StorePop& pop);
  Outcome Run(const ParkedOperation& by, const StoreQueueLength& length);
  Outcome Run(const ParkedOperation& by, const StoreBarrier& barrier);
  Outcome Run(const ParkedOperation& by, const StoreWatch& watch);

  absl::Status CheckKey(const std::string& key) const;
  absl::Status CheckSize(const std::string& key, uint64_t bytes) const;
  // Checks the limits for a change that adds so many bytes to the key.
  absl::Status CheckQueue(const Slot& slot, uint64_t bytes) const;
  absl::Status CheckRoom(const std::string& key, uint64_t bytes) const;
  // Returns the key's slot if it has a `Kind`, null if it has nothing, or an error that says what
  // it has.
  template <class Kind>
  absl::StatusOr<Slot*> FindKind(const std::string& key, Outcome* outcome) const;
  void Depend(Slot* slot, Outcome* outcome) const;
  Outcome Wait(const std::string& key);

  // Replaces what the key has.
  Outcome Replace(const ParkedOperation& by, const std::string& key, StoreContent content,
                  StoreResult result, bool leaves_keeper = false);
  // Changes a part of what the key has. `grows_by` is the change of its size.
  Outcome Amend(const ParkedOperation& by, Slot* slot, decltype(StoreChange::what) what,
                int64_t grows_by, StoreResult result);
  // Gives the change a revision, and notes its result.
  void Record(const ParkedOperation& by, Slot* slot, StoreResult* result);
  // Tells the other owners of the change, and returns its outcome.
  Outcome NoteChange(const ParkedOperation& by, Slot* slot, const StoreResult& result,
                     bool leaves_keeper);

  Context& context_;
  Slots& slots_;
  Placement& placement_;
  Watches& watches_;
};

}  // namespace muster::core::store

#endif  // MUSTER_SERVER_CORE_STORE_EVALUATOR_H_
