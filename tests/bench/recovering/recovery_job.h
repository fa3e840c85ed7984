#ifndef MUSTER_TESTS_BENCH_RECOVERING_RECOVERY_JOB_H_
#define MUSTER_TESTS_BENCH_RECOVERING_RECOVERY_JOB_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tests/bench/recovering/recovery_member.h"
#include "tests/util/job/daemon.h"
#include "tests/util/process/process.h"

namespace muster::testing {

// Ends the benchmark with a message.
[[noreturn]] void EndBenchmark(const std::string& why);

// The pipe to which member processes report.
class Reports {
 public:
  Reports();
  ~Reports();
  Reports(const Reports&) = delete;
  Reports& operator=(const Reports&) = delete;

  const std::string& path() const { return path_; }

  // Blocks for the next `count` reports of a kind, and drops the others.
  std::vector<Report> Await(Report::Kind kind, int count);

  // Blocks for the next `count` reports, and returns the time of the last one.
  int64_t LastOf(Report::Kind kind, int count);

 private:
  Report Next();

  const std::string path_;
  int fd_ = -1;
};

// A musterd and the member processes of its job. The destructor ends them all.
class BenchJob {
 public:
  struct Options {
    int members = 0;
    std::vector<std::string> command;        // of a member; the path of the pipe is appended
    bool launcher = true;                    // members are ranks of `muster run`
    std::vector<std::string> daemon_flags;   // added to --world-size and --member-grace
    std::map<std::string, std::string> env;  // of every member
  };

  // The grace of a member whose connection ends. Without a launcher, a loss takes at least this
  // long.
  static constexpr absl::Duration kGrace = absl::Milliseconds(500);

  // Starts the job. Returns when every member has reported kReady.
  explicit BenchJob(const Options& options);

  Reports& reports() { return reports_; }
  TestDaemon& daemon() { return *daemon_; }

  // Kills the middle member. Returns the time.
  int64_t Kill();

 private:
  void StartMembers(const Options& options);

  Reports reports_;
  std::unique_ptr<TestDaemon> daemon_;
  std::vector<std::unique_ptr<Process>> processes_;
  pid_t victim_ = 0;
};

}  // namespace muster::testing

#endif  // MUSTER_TESTS_BENCH_RECOVERING_RECOVERY_JOB_H_
