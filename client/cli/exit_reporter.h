#ifndef MUSTER_CLIENT_CLI_EXIT_REPORTER_H_
#define MUSTER_CLIENT_CLI_EXIT_REPORTER_H_

#include <memory>
#include <string>

#include "absl/time/time.h"
#include "client/cli/process_end.h"

namespace muster::cli {

// Tells the coordinator how ranks have ended, on a thread of its own. It is a help, not a need: the
// coordinator notices a lost member without it, only later and without the cause; so a report that
// does not get through is dropped. Its calls may come from one thread at a time.
class ExitReporter {
 public:
  // Connects at the first report.
  ExitReporter(const std::string& address, const std::string& job);
  // Does not wait: reports that are left are dropped.
  ~ExitReporter();
  ExitReporter(const ExitReporter&) = delete;
  ExitReporter& operator=(const ExitReporter&) = delete;

  // Never blocks. `incarnation` is the 16 bytes.
  void Report(const std::string& incarnation, const ProcessEnd& end);

  // Blocks until every report has been answered or dropped, or `timeout` has passed.
  void Flush(absl::Duration timeout);

 private:
  struct State;
  static void Run(const std::shared_ptr<State>& state);

  // Shared with the thread, which may be inside a call when this object goes.
  std::shared_ptr<State> state_;
};

}  // namespace muster::cli

#endif  // MUSTER_CLIENT_CLI_EXIT_REPORTER_H_
