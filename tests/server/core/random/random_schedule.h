#ifndef MUSTER_TESTS_SERVER_CORE_RANDOM_RANDOM_SCHEDULE_H_
#define MUSTER_TESTS_SERVER_CORE_RANDOM_RANDOM_SCHEDULE_H_

#include <iterator>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/server/core/harness.h"
#include "tests/server/core/random/random_program.h"

namespace muster::core {

// One random schedule of one coordinator; see random_schedule_test.cc.
class RandomSchedule {
 public:
  explicit RandomSchedule(uint64_t seed, bool verbose)
      : random_(seed),
        verbose_(verbose),
        size_(2 + Pick(3)),
        program_(size_, &random_),
        h_(size_),
        processes_(h_.Formed(size_)),
        states_(size_) {}

  void Run();

 private:
  struct Call {
    uint32_t rank;
    CollectiveRequest request;
  };
  struct Acquire {
    uint32_t rank;
    uint64_t request_id;
    std::string name;
  };
  struct Complete {
    uint32_t rank;
    uint64_t token;
    std::string name;
    std::string value;
  };
  using Key = std::pair<std::string, uint64_t>;  // group and sequence number
  // A NodeCollective in flight, and the ranks that wait for it.
  struct Batch {
    Key key;
    std::vector<uint32_t> ranks;  // by part
    std::set<uint32_t> waiting;
  };
  // An arrival that a NodeCollective has brought. It counts until a later event ends it.
  struct Part {
    uint32_t rank;
    Key key;
    uint64_t attempt;
    Time deadline;
  };
  struct State {
    bool dead = false;
    bool connected = true;
    bool leaving = false;
    uint64_t held = 0;          // token
    uint64_t held_request = 0;  // its request
    uint64_t highest_token = 0;
    std::map<std::string, LeaseResult> known;  // outcomes, by the name of the work
    std::optional<EpochBroken> broken;         // the event that this rank was sent
    size_t events_seen = 0;                    // NeedContribution events of this stream
    std::vector<CollectiveRequest> sent;       // for late repeats
  };

  // ---- random_schedule.cc: what happens ----
  uint32_t Pick(uint32_t n);
  void Trace(const std::string& text);
  void Step();
  // Makes the next collective of the process's program, unless the process is in one.
  void CallNext(uint32_t rank);
  // Returns the request that the program makes at this number.
  CollectiveRequest RequestAt(uint32_t rank, const std::string& group, uint64_t sequence);
  // Replaces the daemon. Nothing more comes from the old one. Processes that attach to the new one
  // repeat their parked calls.
  void Restart();
  Claim ClaimOf(uint32_t rank);
  // Sends the contribution of a completed collective again, because other ranks need it.
  void Contribute();
  void Send(uint32_t rank, const CollectiveRequest& request);
  bool MayCallNext(uint32_t rank, const std::string& group) const;
  bool InCall(uint32_t rank, const std::string& group) const;
  // Delivers an earlier message again, or late.
  void Repeat(uint32_t rank);
  void CancelSome();
  // Ends the connection. The client sees no more answers.
  void Break(uint32_t rank);
  void Heal(uint32_t rank);
  void Kill(uint32_t rank);
  void Leave(uint32_t rank);
  void Pass();
  void AcquireLease(uint32_t rank);
  void CompleteLease(uint32_t rank);
  void AbandonLease(uint32_t rank);
  std::string LeaseName() const;

  // ---- random_batches.cc: ranks that arrive together ----
  // Makes one call for some of the ranks that are about to make the same call.
  void SendTogether();
  void Send(const NodeCollectiveRequest& request, const Batch& batch);
  // Delivers an earlier NodeCollective again, or late.
  void RepeatBatch();
  // Ends the RPC of a NodeCollective. This withdraws nothing.
  void CancelBatch();
  // Stops waiting, for one rank, for its batch. The rank makes its own call some time later, or
  // gives up.
  void LeaveBatch();
  // Withdraws, for one rank, all that it has sent at that number.
  void TakeBack(uint32_t rank, const Key& key);
  void CheckBatches();
  void CheckBatch(WaiterId id, const Batch& batch);
  // Notes that the rank's parts with attempts below `below` no longer count: its parts at `key`, or
  // all of its parts if `key` is null because the connection has ended.
  void DropParts(uint32_t rank, const Key* key, uint64_t below);
  void DropExpiredParts();
  // Checks that no rank with a parked call of its own is listed as missing.
  void CheckWaitingRanksAreNotMissing();
  // Checks that each member that is shown to be in a call has a parked call.
  void CheckActivities();

  // ---- random_schedule_checks.cc: what must hold ----
  // Returns whether the rank's answer is lost, and with it the connection.
  bool IsLost(uint32_t rank);
  // Takes the answers that have arrived.
  void Absorb();
  void CheckAnswers();
  // Calls `look` for each answered call, and forgets the call.
  template <class Sent, class Look>
  void ForEachAnswered(std::map<WaiterId, Sent>* all, Look look) {
    for (auto it = all->begin(); it != all->end();) {
      const bool parked = h_.Parked(it->first);
      if (!parked) look(it->first, it->second);
      it = parked ? std::next(it) : all->erase(it);
    }
  }
  void Completed(const Complete& complete);
  void CheckAnswer(WaiterId id, const Call& call);
  // Called when a collective completes. Checks that all ranks have arrived.
  void CheckAllPresent(const Key& key);
  // Called when the collective completes for this rank, through the answer to that call.
  void TakeResult(uint32_t rank, const Key& key, WaiterId id);
  void CheckLease(WaiterId id, const Acquire& acquire);

  std::mt19937_64 random_;
  const bool verbose_;
  const uint32_t size_;
  const RandomProgram program_;
  Harness h_;
  std::vector<Process> processes_;
  std::vector<State> states_;

  std::map<WaiterId, Call> calls_;
  std::map<WaiterId, Acquire> acquires_;
  // By group and sequence number: the ranks that have arrived, by the call, unless the call has
  // failed.
  std::map<Key, std::map<WaiterId, uint32_t>> arrived_;
  std::map<WaiterId, Batch> batches_;
  std::map<WaiterId, Part> parts_;  // parts that may still end without a completion
  std::vector<std::pair<NodeCollectiveRequest, Batch>> sent_together_;  // for late repeats
  // By rank and collective: attempts below this one no longer count at the current daemon.
  std::map<std::pair<uint32_t, Key>, uint64_t> counts_from_;
  uint64_t requests_ = 0;
  int lease_ = 0;
  std::set<std::string> published_;              // values that were sent as outcomes
  std::map<std::string, std::string> outcomes_;  // that waiters were told, by the work
  std::map<WaiterId, Complete> completes_;
  std::set<Key> completed_;  // collectives that some rank has completed
  std::set<uint32_t> lost_;  // ranks whose answers were lost just now
  uint64_t highest_token_ = 0;
};

}  // namespace muster::core

#endif  // MUSTER_TESTS_SERVER_CORE_RANDOM_RANDOM_SCHEDULE_H_
