#include "tests/nccl/fake/nccl/fault.h"

#include <cstdlib>
#include <map>
#include <mutex>
#include <sstream>

#include "tests/nccl/cuda/fake_cuda.h"
#include "tests/nccl/fake/fake_nccl.h"

namespace fake_nccl {
namespace {

const char* const kNames[] = {
    "id-error",     "id-slow",           "init-refuse", "init-absent",   "init-hang",
    "init-error",   "init-die",          "same-rank",   "child-error",   "op-refuse",
    "op-hang",      "op-error",          "op-die",      "abort-slow",    "abort-hang",
    "revoke-error", "revoke-late-error", "revoke-hang", "finalize-hang", "finalize-error"};

struct Entry {
  int64_t argument = 0;
  int call = 0;  // 0: every call
  int calls = 0;
};

struct Faults {
  std::mutex mutex;
  std::map<std::string, Entry> entries;
};

void CheckName(const std::string& name) {
  for (const char* known : kNames) {
    if (name == known) return;
  }
  fake_cuda::Violation("FAKE_NCCL_FAULTS names '%s', which is no fault", name.c_str());
}

// Parses "name", "name=ARGUMENT", "name@CALL" or "name=ARGUMENT@CALL", separated by commas.
std::map<std::string, Entry> Parse(const std::string& text) {
  std::map<std::string, Entry> entries;
  std::stringstream list(text);
  for (std::string item; std::getline(list, item, ',');) {
    Entry entry;
    if (const size_t at = item.find('@'); at != std::string::npos) {
      entry.call = std::stoi(item.substr(at + 1));
      item.resize(at);
    }
    if (const size_t equals = item.find('='); equals != std::string::npos) {
      entry.argument = std::stoll(item.substr(equals + 1));
      item.resize(equals);
    }
    CheckName(item);
    entries[item] = entry;
  }
  return entries;
}

Faults& TheFaults() {
  static auto* const kFaults = [] {
    auto* faults = new Faults();
    const char* text = std::getenv("FAKE_NCCL_FAULTS");
    if (text != nullptr) faults->entries = Parse(text);
    return faults;
  }();
  return *kFaults;
}

}  // namespace

void SetFaults(const std::string& text) {
  Faults& faults = TheFaults();
  const std::lock_guard<std::mutex> lock(faults.mutex);
  faults.entries = Parse(text);
}

std::optional<int64_t> Fault(const std::string& name) {
  Faults& faults = TheFaults();
  const std::lock_guard<std::mutex> lock(faults.mutex);
  const auto it = faults.entries.find(name);
  if (it == faults.entries.end()) return std::nullopt;
  Entry& entry = it->second;
  ++entry.calls;
  if (entry.call != 0 && entry.call != entry.calls) return std::nullopt;
  return entry.argument;
}

}  // namespace fake_nccl
