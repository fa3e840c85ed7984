#ifndef MUSTER_SERVER_WEB_PAGE_STATUS_FEED_H_
#define MUSTER_SERVER_WEB_PAGE_STATUS_FEED_H_

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace muster::web {

// The feed of the job's status for all viewers of the page. It asks for a new status at most once a
// second, however many viewers there are, and less often if that takes long. Thread-safe.
class StatusFeed {
 public:
  // The job's status at one moment.
  struct Sample {
    absl::Duration at;    // time since the daemon started
    std::string content;  // members of a JSON object, without its braces
  };

  // Starts a feed. `sample` is never called by two threads at once. `clock` must never go back.
  // `instance` is part of each version, so that versions of two daemons differ.
  StatusFeed(uint64_t instance, std::function<absl::Duration()> clock,
             std::function<Sample()> sample);

  // Returns a JSON object: the version, the current time ("now"), the time of the latest sample
  // ("at"), and the milliseconds after which to ask again ("poll"). It includes the content unless
  // `known_version` is current. Blocks during a sample.
  std::string Answer(absl::string_view known_version);

 private:
  void Refresh();
  std::string Version() const;

  const uint64_t instance_;
  const std::function<absl::Duration()> clock_;
  const std::function<Sample()> sample_;

  std::mutex mutex_;  // guards the members below
  Sample latest_;
  absl::Duration sampled_at_;  // by `clock`
  uint64_t changes_ = 0;       // 0 before the first sample
  absl::Duration pause_;
};

}  // namespace muster::web

#endif  // MUSTER_SERVER_WEB_PAGE_STATUS_FEED_H_
