#ifndef MUSTER_TESTS_SERVER_CORE_RANDOM_SCHEDULE_H_
#define MUSTER_TESTS_SERVER_CORE_RANDOM_SCHEDULE_H_

#include <iterator>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/server/core/harness.h"
#include "tests/server/core/random_program.h"

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
  // A NodeCollective that is waited for, and the ranks that wait for it.
  struct Batch {
    Key key;
    std::vector<uint32_t> ranks;  // by part
    std::set<uint32_t> waiting;
  };
  // An arrival that a NodeCollective has brought. It counts until one of these says otherwise.
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
    std::optional<EpochBroken> broken;         // what it was told
    size_t events_seen = 0;                    // NeedContribution events of this stream
    std::vector<CollectiveRequest> sent;       // for late repeats
  };

  // ---- random_schedule.cc: what happens ----
  uint32_t Pick(uint32_t n);
  void Say(const std::string& text);
  void Step();
  // The process calls the next collective of its program, unless it is in one.
  void CallNext(uint32_t rank);
  // What the program says that the process calls there.
  CollectiveRequest RequestAt(uint32_t rank, const std::string& group, uint64_t sequence);
  // Nothing more is heard of the daemon; what was parked in it is repeated by those who attach to
  // its successor.
  void Restart();
  Claim ClaimOf(uint32_t rank);
  // Sends once more what others need of a collective that the process has completed.
  void Contribute();
  void Send(uint32_t rank, const CollectiveRequest& request);
  bool MayCallNext(uint32_t rank, const std::string& group) const;
  bool InCall(uint32_t rank, const std::string& group) const;
  // A message that was sent before arrives once more, or late.
  void Repeat(uint32_t rank);
  void CancelSome();
  // The connection ends: the client sees none of its answers.
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
  // Some of those who are about to call the same do it in one call.
  void SendTogether();
  void Send(const NodeCollectiveRequest& request, const Batch& batch);
  // A NodeCollective that was sent before arrives once more, or late.
  void RepeatBatch();
  // Its RPC ends; nothing is withdrawn by that.
  void CancelBatch();
  // A rank does not wait for its batch any longer. It calls by itself some time, or gives the call
  // up altogether.
  void LeaveBatch();
  // The rank tells the daemon that what it has sent at that number does not count any more.
  void TakeBack(uint32_t rank, const Key& key);
  void CheckBatches();
  void CheckBatch(WaiterId id, const Batch& batch);
  // The parts of a rank, at that number or (where its connection is gone) at any, do not count from
  // now on.
  void DropParts(uint32_t rank, const Key* key, uint64_t below);
  void DropExpiredParts();
  // Who waits in a call of its own has arrived.
  void CheckNobodyWhoWaitsIsMissing();
  // A member that is said to be in a call has a call that waits.
  void CheckActivities();

  // ---- random_schedule_checks.cc: what must hold ----
  // An answer is lost, and with it the connection that it came on.
  bool IsLost(uint32_t rank);
  // Looks at the answers that have come.
  void Absorb();
  void LookAtAnswers();
  // Looks at what has been answered, and forgets it.
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
  // The collective completes: all have arrived.
  void CheckAllPresent(const Key& key);
  // It completes for this rank, by the answer of that call.
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
  // By group and sequence number: who has arrived, through which calls that have not failed.
  std::map<Key, std::map<WaiterId, uint32_t>> arrived_;
  std::map<WaiterId, Batch> batches_;
  std::map<WaiterId, Part> parts_;  // those that may yet end without a completion
  std::vector<std::pair<NodeCollectiveRequest, Batch>> sent_together_;  // for late repeats
  // By rank: under lower attempts nothing counts any more; those of one daemon.
  std::map<std::pair<uint32_t, Key>, uint64_t> counts_from_;
  uint64_t requests_ = 0;
  int lease_ = 0;
  std::set<std::string> published_;              // values that were sent as outcomes
  std::map<std::string, std::string> outcomes_;  // what waiters were told, by the name of the work
  std::map<WaiterId, Complete> completes_;
  std::set<Key> completed_;  // collectives that somebody has completed
  std::set<uint32_t> lost_;  // ranks whose answers were lost just now
  uint64_t highest_token_ = 0;
};

}  // namespace muster::core

#endif  // MUSTER_TESTS_SERVER_CORE_RANDOM_SCHEDULE_H_
