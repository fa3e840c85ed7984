#include "tests/bench/common/rank_processes.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <sstream>

#include "absl/strings/str_cat.h"

namespace muster::testing {
namespace {

constexpr int kPollMs = 500;
constexpr int kTimeoutMs = 300000;

volatile sig_atomic_t interrupted = 0;

// Opens the pipe for reading and writing, so that opening does not wait for the other side. Readers
// see its end when this process ends.
int MakePipe(const std::string& path) {
  if (mkfifo(path.c_str(), 0600) != 0) return -1;
  return open(path.c_str(), O_RDWR | O_CLOEXEC);
}

}  // namespace

void StopOnInterrupt() {
  struct sigaction action = {};
  action.sa_handler = [](int) { interrupted = 1; };
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

RankProcesses::RankProcesses(std::string name, int ranks)
    : name_(std::move(name)), folder_(MakeTempDir()) {
  for (int rank = 0; rank < ranks; ++rank) {
    commands_.push_back(MakePipe(absl::StrCat(folder_, "/commands.", rank)));
  }
  replies_ = MakePipe(folder_ + "/replies");
}

RankProcesses::~RankProcesses() {
  for (const int pipe : commands_) close(pipe);
  close(replies_);
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void RankProcesses::Send(const std::string& line) {
  for (const int pipe : commands_) dprintf(pipe, "%s\n", line.c_str());
}

absl::StatusOr<std::vector<RankProcesses::Numbers>> RankProcesses::Await(const std::string& word) {
  std::vector<Numbers> answers(size());
  for (int count = 0; count < size(); ++count) {
    const absl::StatusOr<std::string> line = NextLine();
    if (!line.ok()) return line.status();
    std::istringstream words(*line);
    int rank = 0;
    std::string reply;
    words >> rank >> reply;
    if (reply != word || rank < 0 || rank >= size()) {
      return ErrorWithOutput(absl::StrCat("a rank reply '", *line, "', not ", word));
    }
    for (int64_t number; words >> number;) answers[rank].push_back(number);
  }
  return answers;
}

absl::StatusOr<std::string> RankProcesses::NextLine() {
  for (int waited = 0; read_.find('\n') == std::string::npos; waited += kPollMs) {
    if (waited > kTimeoutMs) return ErrorWithOutput("the ranks are silent");
    pollfd ready = {replies_, POLLIN, 0};
    const int came = poll(&ready, 1, kPollMs);
    if (interrupted != 0) return absl::CancelledError("interrupted");
    char buffer[4096];
    const ssize_t size = came == 1 ? read(replies_, buffer, sizeof(buffer)) : 0;
    if (size > 0) read_.append(buffer, size);
    if (size > 0) continue;
    if (const absl::Status alive = CheckAlive(); !alive.ok()) return alive;
  }
  const size_t end = read_.find('\n');
  const std::string line = read_.substr(0, end);
  read_.erase(0, end + 1);
  return line;
}

absl::Status RankProcesses::CheckAlive() {
  for (const auto& process : processes_) {
    if (!process->Running()) return ErrorWithOutput("a process has ended");
  }
  return absl::OkStatus();
}

absl::Status RankProcesses::ErrorWithOutput(const std::string& what) const {
  std::string text = absl::StrCat(name_, ", ", size(), " ranks: ", what);
  for (const auto& process : processes_) {
    if (const std::string output = process->Output(); !output.empty()) {
      absl::StrAppend(&text, "; a process has written:\n", output);
      break;
    }
  }
  return absl::InternalError(text);
}

}  // namespace muster::testing
