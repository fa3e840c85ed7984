#ifndef MUSTER_SERVER_SERVICE_UNREAD_ANSWERS_H_
#define MUSTER_SERVER_SERVICE_UNREAD_ANSWERS_H_

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
#include "server/core/types.h"

namespace muster::service {

// One call of a member, which it may send several times.
struct CallName {
  enum class Kind {
    kOther,  // whose answers are too small for it to matter which call they are of
    kJoin,
    kRejoin,
    kCollective,
    kNodeCollective,
    kLease,
  };

  Kind kind = Kind::kOther;
  uint64_t number = 0;     // the sequence number in the group, or the request id of a lease
  std::string group = {};  // of a collective

  friend bool operator==(const CallName& a, const CallName& b) {
    return a.kind == b.kind && a.number == b.number && a.group == b.group;
  }
  template <typename H>
  friend H AbslHashValue(H state, const CallName& name) {
    return H::combine(std::move(state), name.kind, name.number, name.group);
  }
};

// Which call of which member an RPC is a send of, and the how-manieth.
struct SendName {
  core::SessionId session;
  CallName call;
  uint64_t attempt = 0;
};

SendName NameOf(const core::JoinRequest& request);
SendName NameOf(const core::RejoinRequest& request);
SendName NameOf(const core::CollectiveRequest& request);
SendName NameOf(const core::NodeCollectiveRequest& request);
SendName NameOf(const core::AcquireLeaseRequest& request);
// Any other call of a member.
template <typename Request>
SendName NameOf(const Request& request) {
  return {request.call.session, {}, request.call.attempt};
}
// Not calls of a member.
inline SendName NameOf(const core::ExitReport&) { return {}; }
inline SendName NameOf(const core::ProcessStateReport&) { return {}; }
inline SendName NameOf(const core::InquiryRequest&) { return {}; }
inline SendName NameOf(const core::InquiryReport&) { return {}; }
inline SendName NameOf(const core::InquiryQuestion&) { return {}; }

// What each member has been answered and has not read: gRPC keeps it, as long as the call and the
// connection live. Bounded, by letting go of what nobody waits for any more:
//   - answers to older sends of a call, when a later one arrives;
//   - answers to older sessions of a process, when it attaches again, and all of its older streams
//     but one, which may yet read why it ended;
//   - the oldest answers, while there are more than the limit of bytes. The latest stays, whatever
//     its size.
// Thread-safe. What is let go is called without locks held.
class UnreadAnswers {
 public:
  // Ends an RPC although it was answered. Called at most once; the RPC may have ended before.
  using LetGo = absl::AnyInvocable<void(const absl::Status&)>;

  // An RPC, until Done() or StreamDone() has returned. Of nearly all nothing more is asked: those
  // whose answer is read.
  class Rpc {
   public:
    virtual ~Rpc() = default;
    // Called with locks held.
    virtual LetGo ToLetGo() = 0;
  };

  // With a limit of what the core may hold, no member that reads its answers before it calls on
  // reaches it: the core still holds the payloads of those answers.
  explicit UnreadAnswers(uint64_t limit_per_member) : limit_(limit_per_member) {}

  // The process has a new session, whose stream is `stream`.
  void SessionStarted(const core::Incarnation& process, core::SessionId session,
                      core::WaiterId stream, Rpc* rpc);
  void StreamDone(const core::Incarnation& process, core::WaiterId stream);

  // A send has arrived.
  void Arrived(const SendName& send);
  // Its answer of so many bytes is about to be handed to gRPC. Sends of sessions that are not
  // current are not counted: they get no answer but errors.
  void Answered(core::WaiterId id, const SendName& send, uint64_t bytes, Rpc* rpc);
  // gRPC is done with it.
  void Done(core::WaiterId id, const SendName& send);

  // Answers, and streams, that were let go of so far.
  uint64_t let_go() const { return let_go_; }

 private:
  struct Answer {
    CallName call;
    uint64_t attempt = 0;
    uint64_t bytes = 0;
    Rpc* rpc = nullptr;
  };
  using Answers = std::map<core::WaiterId, Answer>;
  struct Process {
    explicit Process(core::Incarnation incarnation) : id(std::move(incarnation)) {}

    const core::Incarnation id;
    std::map<core::WaiterId, Rpc*> streams;  // the oldest first
    core::SessionId session;                 // the latest one, and its answers
    Answers answers;                         // the oldest call first
    // The latest answered send of each call that has a name.
    absl::flat_hash_map<CallName, core::WaiterId> latest;
    uint64_t bytes = 0;
  };
  using Dropped = std::vector<LetGo>;

  void LetAllGo(Dropped dropped, absl::StatusCode code, const char* why);

  // Null if the session is not the latest of its process.
  Process* Find(core::SessionId session);
  void ForgetIfIdle(Process* process);
  void StartSession(Process* process, core::SessionId session, Dropped* dropped);
  static void Erase(Process* process, Answers::iterator answer);
  static void Drop(Process* process, Answers::iterator answer, Dropped* dropped);
  // While there are more than the limit of bytes; all but the spared one.
  void DropOldest(Process* process, core::WaiterId spared, Dropped* dropped) const;
  static void Add(Process* process, core::WaiterId id, Answer answer, Dropped* dropped);
  static void DropOlderSend(Process* process, const SendName& send, Dropped* dropped);

  const uint64_t limit_;
  std::atomic<uint64_t> let_go_{0};
  std::mutex mutex_;  // guards the two below
  absl::flat_hash_map<core::Incarnation, std::unique_ptr<Process>> processes_;
  // By the counter of the latest session: all are of this daemon.
  absl::flat_hash_map<uint64_t, Process*> sessions_;
};

}  // namespace muster::service

#endif  // MUSTER_SERVER_SERVICE_UNREAD_ANSWERS_H_
