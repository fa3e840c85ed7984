#ifndef MUSTER_SERVER_CORE_API_ACTIVITY_H_
#define MUSTER_SERVER_CORE_API_ACTIVITY_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "server/core/api/basic_types.h"

namespace muster::core {

// The latest call of a member and how it stands, for messages: waiting, completed, ended or cut
// off.
class Activity {
 public:
  // Notes that the member is parked in this call since `since`.
  void Begin(WaiterId call, std::shared_ptr<const std::string> what, Time since);
  // Notes that the call has succeeded (`completed`) or ended otherwise. Ignores every call but the
  // latest.
  void Finish(WaiterId call, bool completed, Time now);
  // Notes that the member has completed this call without the coordinator. No effect while it is
  // parked in another one.
  void CompletedOnNode(std::shared_ptr<const std::string> what, Time now);
  // Notes that the member is known from a claim. Only an earlier daemon knew what it did before.
  void Recovered(Time now);
  // Notes that the member's connection has ended, and with it its calls.
  void CutOff(Time now);

  // Returns what the member did last. Pass "before" as `ago` when the text is read later than
  // `now`.
  //   in AllGather('x') op 12 of the world for 3s
  //   last completed Barrier() op 11 of the world 40s ago
  //   no call so far
  //   no call since the coordinator was restarted 3s ago
  std::string Describe(Time now, absl::string_view ago = "ago") const;

  // A text like Describe()'s without the durations, for readers that count the time themselves: "in
  // AllGather('x') op 12 of the world".
  struct Summary {
    std::string text;
    // when the call began (goes_on) or ended; nullopt if the text has no time
    std::optional<Time> since;
    bool goes_on = false;
  };
  Summary Summarize() const;

 private:
  enum class State { kNone, kRecovered, kIn, kCompleted, kEnded, kCutOff };

  State state_ = State::kNone;
  WaiterId call_ = 0;
  std::shared_ptr<const std::string> what_;  // never null once the member has made a call
  Time since_;
  Time until_;
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_API_ACTIVITY_H_
