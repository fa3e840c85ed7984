#ifndef MUSTER_TESTS_SIMULATION_PROGRAM_STORE_CHECKS_H_
#define MUSTER_TESTS_SIMULATION_PROGRAM_STORE_CHECKS_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "muster/v1/store.pb.h"
#include "tests/simulation/world/setting.h"
#include "tests/simulation/world/simulated_process.h"
#include "tests/simulation/world/simulation_state.h"

namespace muster::simulation {

// The keys that programs use. Each key of a kind has a number after it.
namespace store_keys {
inline constexpr char kCounter[] = "counter";
inline constexpr char kLog[] = "log";             // to which programs append their tokens and ';'
inline constexpr char kQueue[] = "queue";         // of tokens
inline constexpr char kValue[] = "value/";        // set, and never deleted
inline constexpr char kDeleted[] = "deleted/";    // set and deleted
inline constexpr char kElection[] = "election/";  // only created, and never deleted
inline constexpr char kChain[] = "chain";         // changed by compare-and-set only
inline constexpr char kPair[] = "pair";           // a barrier for two
inline constexpr char kAll[] = "all";             // a barrier for all processes
}  // namespace store_keys

// The invariants of the job's store, over all daemons. Each token names one operation.
//
// If the daemon has died and clients may have been lost, too, an answered change may be lost
// (docs/store.md, "What failures lose"). Then only those invariants are checked that hold
// nevertheless.
class StoreChecks {
 public:
  // Both must outlive this.
  StoreChecks(const Setting* setting, SimulationState* simulation)
      : setting_(*setting), simulation_(*simulation) {}

  void DaemonDied() { daemon_has_died_ = true; }

  // A program begins an operation. Returns its number.
  size_t Began(ProcessId process, const v1::StoreOperation& operation, std::string token);
  void Ended(size_t number, const absl::StatusOr<v1::StoreAnswer>& answer);
  // The program has ended all its operations, and found the queue empty after the last one.
  void Finished(ProcessId process) { finished_.insert(process); }
  // Checks what must hold after all processes have ended.
  void CheckEnd();

  // Returns the number of operations that have ended well.
  uint64_t successes() const { return successes_; }

 private:
  struct Record {
    ProcessId process = 0;
    v1::StoreOperation operation;
    std::string token;
    // The knowledge when it began:
    uint64_t floor = 0;         // the highest answered revision of the key
    bool must_exist = false;    // a value of the key was answered, and no deletion has begun
    int64_t least = 0;          // of a read of the counter
    std::set<std::string> log;  // of a read of the log: the tokens that were answered

    bool ended = false;
    absl::StatusOr<v1::StoreAnswer> answer = absl::UnknownError("not ended");

    bool is_ok() const { return ended && answer.ok(); }
    bool has_no_effect() const;
    bool has_changed() const;
  };

  // Returns whether no answered change may be lost, as far as is known by now.
  bool LosesNothing() const { return !daemon_has_died_ || setting_.harmless(); }
  void CheckOutcome(const Record& record);
  void CheckRevision(const Record& record);
  void CheckExistence(const Record& record);
  void CheckAdd(const Record& record);
  void CheckCounter(const Record& record);
  void CheckLog(const Record& record);
  void CheckPop(const Record& record);
  void CheckSwap(const Record& record);
  void CheckBarrier(const Record& record);
  void CheckQueueAtEnd();
  void CheckReadsAtEnd();
  template <typename... Text>
  void Wrong(const Record& record, const Text&... text);

  const Setting& setting_;
  SimulationState& simulation_;
  bool daemon_has_died_ = false;
  std::vector<Record> records_;
  uint64_t successes_ = 0;
  std::map<std::string, uint64_t> answered_;  // the highest answered revision of each key
  std::set<std::string> set_;                 // keys of which a value was answered
  std::set<std::string> deleted_;             // keys of which a deletion has begun
  std::set<int64_t> sums_;
  std::set<std::string> appended_;  // tokens that were answered
  std::set<std::string> popped_;
  std::set<std::pair<std::string, std::string>> swapped_;  // by key and expected value
  std::set<ProcessId> finished_;
};

}  // namespace muster::simulation

#endif  // MUSTER_TESTS_SIMULATION_PROGRAM_STORE_CHECKS_H_
