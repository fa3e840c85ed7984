#ifndef MUSTER_CLIENT_SRC_PROTOCOL_SESSION_STATE_H_
#define MUSTER_CLIENT_SRC_PROTOCOL_SESSION_STATE_H_

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

// What one send of a call carries, and what its reply is judged by.
struct Stamp {
  SessionId session;
  uint64_t attempt = 0;
};

// Sessions and attempts, as one member knows them. Pure: no I/O, no threads, no clock.
class SessionState {
 public:
  // A new Attach begins: its attempt number. Whatever an older one still says does not count, and
  // there is no session until this one is answered.
  uint64_t BeginAttach();

  // The first answer to, and the end of, the Attach with this number. False, and nothing changes,
  // if it is not the latest.
  bool Attached(uint64_t attach, const SessionId& session);
  bool Detached(uint64_t attach);
  bool IsLatest(uint64_t attach) const { return attach == attach_; }

  const std::optional<SessionId>& session() const { return session_; }

  // Stamps one send. There must be a session.
  Stamp NewStamp();
  // Whether a reply to that send counts: only in the session it was sent in.
  bool IsCurrent(const Stamp& stamp) const;

 private:
  uint64_t last_attempt_ = 0;
  uint64_t attach_ = 0;
  std::optional<SessionId> session_;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_PROTOCOL_SESSION_STATE_H_
