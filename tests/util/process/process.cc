#include "tests/util/process/process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/util/process/wait_until.h"

extern char** environ;

namespace muster::testing {
namespace {

// Returns whether a launcher sets this variable. Variables of a surrounding job must not leak into
// the job under test.
bool BelongsToAJob(const std::string& variable) {
  static const char* const kNames[] = {"MUSTER_",
                                       "RANK=",
                                       "WORLD_SIZE=",
                                       "LOCAL_RANK=",
                                       "LOCAL_WORLD_SIZE=",
                                       "GROUP_RANK=",
                                       "MASTER_ADDR=",
                                       "MASTER_PORT=",
                                       "SLURM",
                                       "OMPI_",
                                       "PMI_",
                                       "PMIX_",
                                       "MPI_LOCAL",
                                       "PET_",
                                       "LWS_",
                                       "JOB_COMPLETION_INDEX="};
  for (const char* name : kNames) {
    if (absl::StartsWith(variable, name)) return true;
  }
  return false;
}

std::vector<std::string> Environment(const std::map<std::string, std::string>& added) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string variable = *entry;
    const bool replaced = added.count(variable.substr(0, variable.find('='))) > 0;
    if (!replaced && !BelongsToAJob(variable)) result.push_back(variable);
  }
  for (const auto& [name, value] : added) result.push_back(absl::StrCat(name, "=", value));
  return result;
}

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (const std::string& s : strings) pointers.push_back(const_cast<char*>(s.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Exit& exit) {
  return out << (exit.signaled ? "signal " : "status ") << exit.code;
}

std::unique_ptr<Process> Process::Start(const std::vector<std::string>& argv,
                                        const std::map<std::string, std::string>& env) {
  const std::string output = absl::StrCat(MakeTempDir(), "/output");
  const std::vector<std::string> variables = Environment(env);
  const std::vector<char*> arguments = Pointers(argv);
  const std::vector<char*> environment = Pointers(variables);
  const int file = open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const pid_t pid = fork();
  if (pid == 0) {
    setpgid(0, 0);
    dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
    dup2(file, STDOUT_FILENO);
    dup2(file, STDERR_FILENO);
    execvpe(arguments[0], arguments.data(), environment.data());
    _exit(127);
  }
  close(file);
  setpgid(pid, pid);  // in both processes, since either may come first
  return std::unique_ptr<Process>(new Process(pid, argv[0], output));
}

Process::Process(pid_t pid, std::string name, std::string output_path)
    : pid_(pid), name_(std::move(name)), output_path_(std::move(output_path)) {}

Process::~Process() {
  kill(-pid_, SIGKILL);
  Reap(/*block=*/true);
}

void Process::Signal(int signal) const {
  if (!ended_) kill(pid_, signal);
}

void Process::Stop() const {
  Signal(SIGSTOP);
  siginfo_t info = {};
  if (!ended_) waitid(P_PID, pid_, &info, WSTOPPED | WEXITED | WNOWAIT);
}

bool Process::Reap(bool block) {
  if (ended_) return true;
  int status = 0;
  if (waitpid(pid_, &status, block ? 0 : WNOHANG) != pid_) return false;
  ended_ = true;
  exit_ = WIFSIGNALED(status) ? Exit{true, WTERMSIG(status)} : Exit{false, WEXITSTATUS(status)};
  return true;
}

bool Process::Running() { return !Reap(/*block=*/false); }

Exit Process::Wait(absl::Duration timeout) {
  if (WaitUntil([this] { return Reap(/*block=*/false); }, timeout)) return exit_;
  ADD_FAILURE() << name_ << " did not end within " << timeout << "; its output:\n" << Output();
  return Exit{true, -1};
}

std::string Process::Output() const { return ReadFile(output_path_); }

bool Process::WaitForOutput(const std::string& text, absl::Duration timeout) {
  bool printed = false;
  const auto decided = [&] {
    const bool running = Running();  // before reading: output of the last moment counts
    printed = absl::StrContains(Output(), text);
    return printed || !running;
  };
  WaitUntil(decided, timeout);
  if (printed) return true;
  ADD_FAILURE() << name_ << " did not print '" << text << "'; its output:\n" << Output();
  return false;
}

std::string Runfile(const std::string& path) {
  const char* root = std::getenv("TEST_SRCDIR");
  return absl::StrCat(root == nullptr ? "." : absl::StrCat(root, "/muster"), "/", path);
}

std::string MakeTempDir() {
  const char* base = std::getenv("TEST_TMPDIR");
  std::string path = absl::StrCat(base == nullptr ? "/tmp" : base, "/muster-XXXXXX");
  if (mkdtemp(path.data()) == nullptr) ADD_FAILURE() << "cannot make " << path;
  return path;
}

std::string ReadFile(const std::string& path) {
  // Copies by operator<<, which does not throw if /proc fails because the process ends.
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

}  // namespace muster::testing
