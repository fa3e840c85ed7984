#ifndef MUSTER_TESTS_NCCL_CONFORMANCE_RANK_PROCESS_H_
#define MUSTER_TESTS_NCCL_CONFORMANCE_RANK_PROCESS_H_

#include <sys/types.h>

#include <chrono>
#include <map>
#include <string>

namespace muster::testing {

// A process of one rank. It reads one command a line from standard input, and answers each with a
// line on file descriptor 3. Its output goes to a file, since NCCL may write there. The destructor
// kills the process.
class RankProcess {
 public:
  using Env = std::map<std::string, std::string>;

  RankProcess(const std::string& program, int rank, const Env& env, const std::string& log);
  ~RankProcess();
  RankProcess(const RankProcess&) = delete;
  RankProcess& operator=(const RankProcess&) = delete;

  void Send(const std::string& command);
  // Returns the next answer, or "blocks" if there is none in that time. A later Await() may still
  // get that answer. If the process has ended, returns how: "signal 9", "violation", "exit 1".
  std::string Await(std::chrono::milliseconds within);

  bool ended() const { return ended_; }
  bool owes_answer() const { return owes_answer_; }
  std::string Log() const;

 private:
  std::string TakeEnd();
  bool TakeLine(std::string* line);

  pid_t pid_ = -1;
  int commands_ = -1;
  int answers_ = -1;
  std::string received_;
  std::string log_;
  bool ended_ = false;
  bool owes_answer_ = false;
};

}  // namespace muster::testing

#endif  // MUSTER_TESTS_NCCL_CONFORMANCE_RANK_PROCESS_H_
