#include "tests/nccl/conformance/rank_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "tests/util/process/process.h"

namespace muster::testing {
namespace {

constexpr int kAnswerFile = 3;

[[noreturn]] void Exec(const std::string& program, int rank, const RankProcess::Env& env,
                       const std::string& log, int commands, int answers) {
  const int output = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  const bool moved = output >= 0 && dup2(commands, STDIN_FILENO) >= 0 &&
                     dup2(answers, kAnswerFile) >= 0 && dup2(output, STDOUT_FILENO) >= 0 &&
                     dup2(output, STDERR_FILENO) >= 0;
  if (!moved) _exit(1);
  for (const auto& [name, value] : env) setenv(name.c_str(), value.c_str(), 1);
  const std::string number = std::to_string(rank);
  execl(program.c_str(), program.c_str(), number.c_str(), nullptr);
  _exit(1);
}

}  // namespace

RankProcess::RankProcess(const std::string& program, int rank, const Env& env,
                         const std::string& log)
    : log_(log) {
  int commands[2];
  int answers[2];
  if (pipe2(commands, O_CLOEXEC) != 0 || pipe2(answers, O_CLOEXEC) != 0) std::abort();
  pid_ = fork();
  if (pid_ == 0) Exec(program, rank, env, log, commands[0], answers[1]);
  close(commands[0]);
  close(answers[1]);
  commands_ = commands[1];
  answers_ = answers[0];
}

RankProcess::~RankProcess() {
  if (!ended_) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  close(commands_);
  close(answers_);
}

void RankProcess::Send(const std::string& command) {
  const std::string line = command + "\n";
  // If the rank has exited, the next Await() reports that.
  signal(SIGPIPE, SIG_IGN);
  if (write(commands_, line.data(), line.size()) < 0) return;
  owes_answer_ = true;
}

std::string RankProcess::Await(std::chrono::milliseconds within) {
  const auto deadline = std::chrono::steady_clock::now() + within;
  std::string line;
  while (!TakeLine(&line)) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return "blocks";
    pollfd file = {answers_, POLLIN, 0};
    if (poll(&file, 1, static_cast<int>(left.count())) <= 0) continue;
    char buffer[512];
    const ssize_t got = read(answers_, buffer, sizeof buffer);
    if (got <= 0) return TakeEnd();
    received_.append(buffer, got);
  }
  owes_answer_ = false;
  return line;
}

std::string RankProcess::Log() const { return ReadFile(log_); }

std::string RankProcess::TakeEnd() {
  int status = 0;
  waitpid(pid_, &status, 0);
  ended_ = true;
  owes_answer_ = false;
  if (Log().find("VIOLATION") != std::string::npos) return "violation";
  return WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status))
                             : "exit " + std::to_string(WEXITSTATUS(status));
}

bool RankProcess::TakeLine(std::string* line) {
  const size_t end = received_.find('\n');
  if (end == std::string::npos) return false;
  *line = received_.substr(0, end);
  received_.erase(0, end + 1);
  return true;
}

}  // namespace muster::testing
