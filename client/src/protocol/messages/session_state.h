#ifndef MUSTER_CLIENT_SRC_PROTOCOL_MESSAGES_SESSION_STATE_H_
#define MUSTER_CLIENT_SRC_PROTOCOL_MESSAGES_SESSION_STATE_H_

#include <cstdint>
#include <optional>

namespace muster::internal {

struct SessionId {
  uint64_t daemon_instance = 0;
  uint64_t counter = 0;
  uint64_t key = 0;
  friend bool operator==(const SessionId& a, const SessionId& b) {
    return a.daemon_instance == b.daemon_instance && a.counter == b.counter && a.key == b.key;
  }
};

// The session and attempt of one send. They decide whether its reply counts.
struct Stamp {
  SessionId session;
  uint64_t attempt = 0;
};

// The sessions and attempts of one member. Pure: no I/O, no threads, no clock.
class SessionState {
 public:
  // Begins an Attach and returns its attempt. Responses to an older Attach no longer count, and
  // there is no session until this one is answered.
  uint64_t BeginAttach();

  // Applies the first response to an Attach, or its end. Returns false, and changes nothing, if it
  // is not the latest.
  bool Attached(uint64_t attach, const SessionId& session);
  bool Detached(uint64_t attach);
  bool IsLatest(uint64_t attach) const { return attach == attach_; }

  const std::optional<SessionId>& session() const { return session_; }

  // Stamps one send. Needs a session.
  Stamp NewStamp();
  // Returns whether a reply to this send counts: only in the session of the send. A reply may be
  // slow: the stream of session 1 ends, and the call is sent again in session 2; then the reply of
  // session 1 arrives. It is dropped, because calls of session 1 no longer count.
  bool IsCurrent(const Stamp& stamp) const;

 private:
  uint64_t last_attempt_ = 0;
  uint64_t attach_ = 0;
  std::optional<SessionId> session_;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_PROTOCOL_MESSAGES_SESSION_STATE_H_
