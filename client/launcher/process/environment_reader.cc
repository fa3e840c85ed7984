#include "client/launcher/process/environment_reader.h"

#include <algorithm>
#include <fstream>
#include <mutex>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "client/observe/proc/proc.h"
#include "common/process/start_thread.h"

namespace muster::launcher {
namespace {

// The most threads that read at once, including those that hang.
constexpr int64_t kMaxThreads = 64;

std::string ReadVariable(const std::string& path, const std::string& variable) {
  std::ifstream file(path);
  std::stringstream environment;
  environment << file.rdbuf();
  return observe::VariableIn(environment.str(), variable);
}

}  // namespace

// One read of one process's environment.
struct EnvironmentReader::Read {
  std::mutex mutex;
  std::optional<std::string> value;

  void Take(std::string read) {
    const std::lock_guard<std::mutex> lock(mutex);
    value = std::move(read);
  }
  std::optional<std::string> Value() {
    const std::lock_guard<std::mutex> lock(mutex);
    return value;
  }
};

EnvironmentReader::EnvironmentReader(std::string variable, std::string proc)
    : variable_(std::move(variable)), proc_(std::move(proc)) {}

std::vector<std::optional<std::string>> EnvironmentReader::ValuesOf(
    const std::vector<ProcessInfo>& processes) {
  const std::map<ProcessKey, std::shared_ptr<Read>> before = std::exchange(reads_, {});
  for (const ProcessInfo& process : processes) {
    const auto found = before.find({process.pid, process.started});
    if (found != before.end()) reads_.insert(*found);
  }
  int64_t reading = std::count_if(reads_.begin(), reads_.end(),
                                  [](const auto& read) { return !read.second->Value(); });
  std::vector<std::optional<std::string>> values;
  for (const ProcessInfo& process : processes) {
    const ProcessKey name = {process.pid, process.started};
    if (reads_.count(name) == 0 && reading < kMaxThreads) {
      if (auto begun = Begin(process.pid)) reads_.emplace(name, std::move(begun));
      ++reading;
    }
    const auto read = reads_.find(name);
    values.push_back(read == reads_.end() ? std::nullopt : read->second->Value());
  }
  return values;
}

// Returns null if no thread could be started. A later call tries again.
std::shared_ptr<EnvironmentReader::Read> EnvironmentReader::Begin(pid_t pid) const {
  const auto read = std::make_shared<Read>();
  const absl::Status begun =
      StartDetachedThread("read a process's environment",
                          [read, path = absl::StrCat(proc_, "/", pid, "/environ"),
                           variable = variable_] { read->Take(ReadVariable(path, variable)); });
  return begun.ok() ? read : nullptr;
}

}  // namespace muster::launcher
