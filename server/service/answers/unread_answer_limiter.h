#ifndef MUSTER_SERVER_SERVICE_ANSWERS_UNREAD_ANSWER_LIMITER_H_
#define MUSTER_SERVER_SERVICE_ANSWERS_UNREAD_ANSWER_LIMITER_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "server/core/api/types.h"

namespace muster::service {

// A call of a member, which the member may send several times.
struct CallKey {
  enum class Kind {
    kOther,  // calls with answers too small to tell apart
    kJoin,
    kRejoin,
    kCollective,
    kNodeCollective,
    kLease,
  };

  Kind kind = Kind::kOther;
  uint64_t number = 0;     // the sequence number in the group, or the request id of a lease
  std::string group = {};  // the group of a collective

  friend bool operator==(const CallKey& a, const CallKey& b) {
    return a.kind == b.kind && a.number == b.number && a.group == b.group;
  }
  template <typename H>
  friend H AbslHashValue(H state, const CallKey& name) {
    return H::combine(std::move(state), name.kind, name.number, name.group);
  }
};

// One send of a call: the member's session, the call, and the number of the attempt.
struct SendKey {
  core::SessionId session;
  CallKey call;
  uint64_t attempt = 0;
};

SendKey SendKeyOf(const core::JoinRequest& request);
SendKey SendKeyOf(const core::RejoinRequest& request);
SendKey SendKeyOf(const core::CollectiveRequest& request);
SendKey SendKeyOf(const core::NodeCollectiveRequest& request);
SendKey SendKeyOf(const core::AcquireLeaseRequest& request);
// Names the send of any other call of a member.
template <typename Request>
SendKey SendKeyOf(const Request& request) {
  return {request.call.session, {}, request.call.attempt};
}
// Names nothing: these are not calls of members.
inline SendKey SendKeyOf(const core::ExitReport&) { return {}; }
inline SendKey SendKeyOf(const core::ProcessStateReport&) { return {}; }
inline SendKey SendKeyOf(const core::InquiryRequest&) { return {}; }
inline SendKey SendKeyOf(const core::InquiryReport&) { return {}; }
inline SendKey SendKeyOf(const core::InquiryQuery&) { return {}; }

// The answers that members have been sent and have not read. gRPC keeps them as long as their call
// and their connection live. This class bounds them by dropping
//   - answers to older sends of a call, when a later send arrives;
//   - answers to older sessions of a process, when it attaches again; and its older streams but the
//     latest, on which the process may still read why the stream ended;
//   - the oldest answers of a member, while all its answers take more than the limit. The latest
//     answer stays, whatever its size.
// Thread-safe. StreamReset functions are called without locks held.
class UnreadAnswerLimiter {
 public:
  // A function that ends an RPC that was answered already. Called at most once, perhaps after the
  // RPC has ended on its own.
  using StreamReset = absl::AnyInvocable<void(const absl::Status&)>;

  // An RPC, until Done() or StreamDone() has returned. Nearly all answers are read, so
  // PrepareReset() is rarely called.
  class Rpc {
   public:
    virtual ~Rpc() = default;
    // Returns the function that drops the answer. Called with locks held.
    virtual StreamReset PrepareReset() = 0;
  };

  // Sets the limit in bytes for each member. With --max-held-bytes, the core's own limit, a member
  // that reads its answers before it calls again never reaches it: the core still holds the
  // payloads of unread answers.
  explicit UnreadAnswerLimiter(uint64_t limit_per_member) : limit_(limit_per_member) {}

  // Notes that the process has a new session, whose stream is `stream`. Drops the answers to its
  // older sessions.
  void SessionStarted(const core::Incarnation& process, core::SessionId session,
                      core::WaiterId stream, Rpc* rpc);
  void StreamDone(const core::Incarnation& process, core::WaiterId stream);

  // Notes that a send has arrived. Drops the answer to an older send of the same call.
  void Arrived(const SendKey& send);
  // Notes that the answer to a send, `bytes` long, is about to be handed to gRPC. Drops older
  // answers beyond the limit. Sends in sessions that are not current are ignored, because they are
  // only answered with errors.
  void Answered(core::WaiterId id, const SendKey& send, uint64_t bytes, Rpc* rpc);
  // Notes that gRPC is done with the send.
  void Done(core::WaiterId id, const SendKey& send);

  // Returns the number of answers and streams dropped so far.
  uint64_t dropped() const { return dropped_; }

 private:
  struct Answer {
    CallKey call;
    uint64_t attempt = 0;
    uint64_t bytes = 0;
    Rpc* rpc = nullptr;
  };
  using Answers = std::map<core::WaiterId, Answer>;
  struct Process {
    explicit Process(core::Incarnation incarnation) : id(std::move(incarnation)) {}

    const core::Incarnation id;
    std::map<core::WaiterId, Rpc*> streams;  // oldest first
    core::SessionId session;                 // the latest session; `answers` belong to it
    Answers answers;                         // oldest call first
    // The latest answered send of each call, except calls of kind kOther.
    absl::flat_hash_map<CallKey, core::WaiterId> latest;
    uint64_t bytes = 0;
  };
  using Dropped = std::vector<StreamReset>;

  void ResetAll(Dropped dropped, absl::StatusCode code, const char* why);

  // Returns the process whose latest session this is, or null.
  Process* Find(core::SessionId session);
  void ForgetIfIdle(Process* process);
  void StartSession(Process* process, core::SessionId session, Dropped* dropped);
  static void Erase(Process* process, Answers::iterator answer);
  static void Drop(Process* process, Answers::iterator answer, Dropped* dropped);
  // Drops the oldest answers, but never `exempt`, until the rest are within the limit.
  void DropOldest(Process* process, core::WaiterId exempt, Dropped* dropped) const;
  static void Add(Process* process, core::WaiterId id, Answer answer, Dropped* dropped);
  static void DropOlderSend(Process* process, const SendKey& send, Dropped* dropped);

  const uint64_t limit_;
  std::atomic<uint64_t> dropped_{0};
  std::mutex mutex_;  // guards the members below
  absl::flat_hash_map<core::Incarnation, std::unique_ptr<Process>> processes_;
  // Processes by the counter of their latest session. All sessions are of this daemon, so counters
  // are unique.
  absl::flat_hash_map<uint64_t, Process*> sessions_;
};

}  // namespace muster::service

#endif  // MUSTER_SERVER_SERVICE_ANSWERS_UNREAD_ANSWER_LIMITER_H_
