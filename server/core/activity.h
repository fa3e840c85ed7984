#ifndef MUSTER_SERVER_CORE_ACTIVITY_H_
#define MUSTER_SERVER_CORE_ACTIVITY_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "server/core/vocabulary.h"

namespace muster::core {

// What a member last did, for messages: its latest call, and how that stands.
class Activity {
 public:
  // The member is parked in a call, since that time.
  void Begin(WaiterId call, std::shared_ptr<const std::string> what, Time since);
  // The call has succeeded, or ended otherwise. Other calls than the latest are ignored.
  void Finish(WaiterId call, bool completed, Time now);
  // The member is known from a claim: what it did before, only an earlier daemon knew.
  void Recovered(Time now);
  // The member's connection has ended, and its calls with it.
  void CutOff(Time now);

  // "in AllGather('x') op 12 of the world for 3s", "last completed Barrier() op 11 of the world 40s
  // ago", "no call so far", "no call since the coordinator was restarted 3s ago". `ago` may be
  // "before", where `now` is no longer now.
  std::string Describe(Time now, absl::string_view ago = "ago") const;

  // The same for those who count the time themselves: "in AllGather('x') op 12 of the world".
  struct Story {
    std::string text;
    std::optional<Time> since;  // when it ended, or, where it goes on, began; none: it has no time
    bool goes_on = false;
  };
  Story Tell() const;

 private:
  enum class State { kNone, kRecovered, kIn, kCompleted, kEnded, kCutOff };

  State state_ = State::kNone;
  WaiterId call_ = 0;
  std::shared_ptr<const std::string> what_;  // never null where it is in a call, or was
  Time since_;
  Time until_;
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_ACTIVITY_H_
