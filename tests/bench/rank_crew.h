#ifndef MUSTER_TESTS_BENCH_RANK_CREW_H_
#define MUSTER_TESTS_BENCH_RANK_CREW_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tests/util/process.h"

namespace muster::testing {

// The ranks of one job, which are processes, told by lines what to do; the lines are described in
// control_plane_rank.cc. They end when this object, or this process, does.
class RankCrew {
 public:
  // What a rank has answered, without its number and the word that was expected.
  using Numbers = std::vector<int64_t>;

  // `name` is for messages.
  RankCrew(std::string name, int ranks);
  ~RankCrew();

  // Where the pipes are: an argument of the processes.
  const std::string& folder() const { return folder_; }
  int size() const { return static_cast<int>(commands_.size()); }

  // A process that is a rank, or several.
  void Add(std::unique_ptr<Process> process) { processes_.push_back(std::move(process)); }

  void Tell(const std::string& line);
  // Waits until every rank has answered with `word`; by rank. An error has the output of a process
  // that has ended or said that it failed. CANCELLED after StopOnInterrupt().
  absl::StatusOr<std::vector<Numbers>> Await(const std::string& word);

 private:
  absl::StatusOr<std::string> NextLine();
  absl::Status CheckAlive();
  absl::Status Complain(const std::string& what) const;

  const std::string name_;
  const std::string folder_;
  std::vector<int> commands_;
  int replies_ = -1;
  std::string read_;
  std::vector<std::unique_ptr<Process>> processes_;
};

// Makes SIGINT and SIGTERM end every Await(), so that nothing is left running.
void StopOnInterrupt();

}  // namespace muster::testing

#endif  // MUSTER_TESTS_BENCH_RANK_CREW_H_
