#include "server/core/api/activity.h"

#include "absl/strings/str_cat.h"
#include "server/core/api/describe.h"

namespace muster::core {
namespace {

// When a connection ends, the ends of its calls and of its stream arrive in any order. An end of a
// call counts as part of the cut-off if the stream's end follows within this time.
constexpr absl::Duration kTogether = absl::Seconds(1);

}  // namespace

void Activity::Begin(WaiterId call, std::shared_ptr<const std::string> what, Time since) {
  state_ = State::kIn;
  call_ = call;
  what_ = std::move(what);
  since_ = since;
}

void Activity::Finish(WaiterId call, bool completed, Time now) {
  if (call != call_ || state_ != State::kIn) return;
  state_ = completed ? State::kCompleted : State::kEnded;
  until_ = now;
}

void Activity::CompletedOnNode(std::shared_ptr<const std::string> what, Time now) {
  if (state_ == State::kIn) return;
  state_ = State::kCompleted;
  call_ = 0;
  what_ = std::move(what);
  until_ = now;
}

void Activity::Recovered(Time now) {
  if (state_ != State::kNone) return;
  state_ = State::kRecovered;
  since_ = now;
}

void Activity::CutOff(Time now) {
  if (state_ == State::kEnded && now - until_ <= kTogether) state_ = State::kCutOff;
  if (state_ != State::kIn) return;
  state_ = State::kCutOff;
  until_ = now;
}

Activity::Summary Activity::Summarize() const {
  switch (state_) {
    case State::kNone:
      return {"no call so far", std::nullopt};
    case State::kRecovered:
      return {"no call since the coordinator was restarted", since_};
    case State::kIn:
      return {absl::StrCat("in ", *what_), since_, /*goes_on=*/true};
    case State::kCutOff:
      return {
          absl::StrCat("was in ", *what_, " for ", DescribeDuration(until_ - since_), ", cut off"),
          until_};
    case State::kCompleted:
      return {absl::StrCat("last completed ", *what_), until_};
    case State::kEnded:
      return {absl::StrCat("last called ", *what_, ", which ended"), until_};
  }
  return {};
}

std::string Activity::Describe(Time now, absl::string_view ago) const {
  switch (state_) {
    case State::kNone:
      return "no call so far";
    case State::kRecovered:
      return absl::StrCat("no call since the coordinator was restarted ",
                          DescribeDuration(now - since_), " ", ago);
    case State::kIn:
      return absl::StrCat("in ", *what_, " for ", DescribeDuration(now - since_));
    case State::kCutOff:
      return absl::StrCat("in ", *what_, " for ", DescribeDuration(until_ - since_));
    case State::kCompleted:
      return absl::StrCat("last completed ", *what_, " ", DescribeDuration(now - until_), " ", ago);
    case State::kEnded:
      return absl::StrCat("last called ", *what_, ", which ended ", DescribeDuration(now - until_),
                          " ", ago);
  }
  return "";
}

}  // namespace muster::core
