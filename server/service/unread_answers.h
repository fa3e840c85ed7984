#ifndef MUSTER_SERVER_SERVICE_UNREAD_ANSWERS_H_
#define MUSTER_SERVER_SERVICE_UNREAD_ANSWERS_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "server/core/types.h"

namespace muster::service {

// Which call of which member an RPC is a send of, and the how-manieth.
struct SendName {
  core::SessionId session;
  std::string call;  // empty: its answers are too small for it to matter
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
  return {request.call.session, "", request.call.attempt};
}
// Not calls of a member.
inline SendName NameOf(const core::ExitReport&) { return {}; }
inline SendName NameOf(const core::ProcessStateReport&) { return {}; }

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

  // With a limit of what the core may hold, no member that reads its answers before it calls on
  // reaches it: the core still holds the payloads of those answers.
  explicit UnreadAnswers(uint64_t limit_per_member) : limit_(limit_per_member) {}

  // The process has a new session, whose stream is `stream`.
  void SessionStarted(const core::Incarnation& process, core::SessionId session,
                      core::WaiterId stream, LetGo let_go);
  void StreamDone(const core::Incarnation& process, core::WaiterId stream);

  // A send has arrived.
  void Arrived(const SendName& send);
  // Its answer of so many bytes is about to be handed to gRPC. Sends of sessions that are not
  // current are not counted: they get no answer but errors.
  void Answered(core::WaiterId id, const SendName& send, uint64_t bytes, LetGo let_go);
  // gRPC is done with it.
  void Done(core::WaiterId id, const SendName& send);

 private:
  struct Answer {
    std::string call;
    uint64_t attempt = 0;
    uint64_t bytes = 0;
    LetGo let_go;
  };
  // The latest one of a process.
  struct Session {
    core::SessionId id;
    core::Incarnation process;
    std::map<core::WaiterId, Answer> answers = {};  // the oldest call first
    // The latest answered send of each named call.
    absl::flat_hash_map<std::string, core::WaiterId> latest = {};
    uint64_t bytes = 0;
  };
  struct Process {
    core::SessionId session;
    std::map<core::WaiterId, LetGo> streams;  // the oldest first
  };
  using Dropped = std::vector<LetGo>;

  Session* Find(core::SessionId id);
  void DropSession(core::SessionId id, Dropped* dropped);
  void ForgetIfIdle(const core::Incarnation& process);
  static void Take(Session* session, core::WaiterId id, Dropped* out);
  // While there are more than the limit of bytes; all but the spared one.
  void DropOldest(Session* session, core::WaiterId spared, Dropped* dropped) const;
  static void Add(Session* session, core::WaiterId id, Answer answer, Dropped* dropped);
  static void DropOlderSend(Session* session, const SendName& send, Dropped* dropped);

  const uint64_t limit_;
  std::mutex mutex_;                                 // guards the two below
  absl::flat_hash_map<uint64_t, Session> sessions_;  // by counter: all are of this daemon
  absl::flat_hash_map<core::Incarnation, Process> processes_;
};

}  // namespace muster::service

#endif  // MUSTER_SERVER_SERVICE_UNREAD_ANSWERS_H_
