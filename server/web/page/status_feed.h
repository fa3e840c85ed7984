#ifndef MUSTER_SERVER_WEB_PAGE_STATUS_FEED_H_
#define MUSTER_SERVER_WEB_PAGE_STATUS_FEED_H_

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace muster::web {

// What all viewers of the page are told of the job. It is looked at once a second at most, however
// many ask, and less often where a look takes long. Thread-safe.
class StatusFeed {
 public:
  struct Look {
    absl::Duration at;    // of the daemon's life
    std::string content;  // members of a JSON object, without its braces
  };

  // `look` is never called by two threads at once. `clock` is any that does not go back. `instance`
  // tells this daemon's versions from those of another one.
  StatusFeed(uint64_t instance, std::function<absl::Duration()> clock, std::function<Look()> look);

  // A JSON object: the version, what the time is ("now") and when the job was last looked at
  // ("at"), and for how many milliseconds there is nothing new to ask for; and the content, unless
  // the asker has that version of it. May block for a look.
  std::string Answer(absl::string_view known_version);

 private:
  void Refresh();
  std::string Version() const;

  const uint64_t instance_;
  const std::function<absl::Duration()> clock_;
  const std::function<Look()> look_;

  std::mutex mutex_;  // guards all below
  Look latest_;
  absl::Duration looked_at_;  // by the clock
  uint64_t changes_ = 0;      // 0: nothing was looked at yet
  absl::Duration pause_;
};

}  // namespace muster::web

#endif  // MUSTER_SERVER_WEB_PAGE_STATUS_FEED_H_
