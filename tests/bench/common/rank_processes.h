#ifndef MUSTER_TESTS_BENCH_COMMON_RANK_PROCESSES_H_
#define MUSTER_TESTS_BENCH_COMMON_RANK_PROCESSES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tests/util/process/process.h"

namespace muster::testing {

// The ranks of one job, as processes. They follow commands, which are lines described in
// control_plane_rank.cc. They end when this object is destroyed or this process ends.
class RankProcesses {
 public:
  // The numbers of a rank's answer.
  using Numbers = std::vector<int64_t>;

  // `name` appears in messages.
  RankProcesses(std::string name, int ranks);
  ~RankProcesses();

  // Returns the folder of the pipes, an argument of the processes.
  const std::string& folder() const { return folder_; }
  int size() const { return static_cast<int>(commands_.size()); }

  // Adds a process that is one rank or several.
  void Add(std::unique_ptr<Process> process) { processes_.push_back(std::move(process)); }

  // Sends a command to every rank.
  void Send(const std::string& line);
  // Blocks until every rank has answered with `word`. Returns the answers by rank. If a process has
  // ended or reported a failure, the error contains its output. Returns CANCELLED after
  // StopOnInterrupt().
  absl::StatusOr<std::vector<Numbers>> Await(const std::string& word);

 private:
  absl::StatusOr<std::string> NextLine();
  absl::Status CheckAlive();
  absl::Status ErrorWithOutput(const std::string& what) const;

  const std::string name_;
  const std::string folder_;
  std::vector<int> commands_;
  int replies_ = -1;
  std::string read_;
  std::vector<std::unique_ptr<Process>> processes_;
};

// Makes SIGINT and SIGTERM end every Await(), so that no process is left running.
void StopOnInterrupt();

}  // namespace muster::testing

#endif  // MUSTER_TESTS_BENCH_COMMON_RANK_PROCESSES_H_
