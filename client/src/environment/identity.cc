#include "client/src/environment/identity.h"

#include <time.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/credentials/process_secret.h"
#include "common/names/node_names.h"
#include "common/process/cpu_affinity.h"
#include "common/text/hex.h"
#include "common/text/number_ranges.h"
#include "common/text/utf8.h"

namespace muster::internal {
namespace {

std::string ReadFile(const char* path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

absl::Duration SinceBoot() {
  timespec time = {};
  clock_gettime(CLOCK_BOOTTIME, &time);
  return absl::DurationFromTimespec(time);
}

// Returns the start time from field 22 of /proc/self/stat, counted from the ')' after the program's
// name. Returns the current time if that cannot be read.
absl::Time ProcessStart() {
  const std::string stat = ReadFile("/proc/self/stat");
  const size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return absl::Now();
  const std::vector<std::string> fields = absl::StrSplit(stat.substr(name_end + 1), ' ');
  constexpr size_t kStartTime = 20;
  int64_t ticks = 0;
  if (fields.size() <= kStartTime || !absl::SimpleAtoi(fields[kStartTime], &ticks)) {
    return absl::Now();
  }
  const absl::Duration started = absl::Seconds(1) * ticks / sysconf(_SC_CLK_TCK);
  return absl::Now() - (SinceBoot() - started);
}

}  // namespace

std::string Hostname() {
  char name[HOST_NAME_MAX + 1] = "";
  gethostname(name, sizeof(name) - 1);
  return ReplaceUnprintable(name);
}

std::string BoundCpus() {
  constexpr size_t kMaxRanges = 32;  // AttachRequest.cpus has at most 512 bytes
  if (getenv(kBindToVariable) == nullptr) return "";
  return NumberRanges(CpusOf(getpid()), kMaxRanges);
}

std::string BootId() {
  std::string boot_id = ReadFile("/proc/sys/kernel/random/boot_id");
  while (!boot_id.empty() && boot_id.back() == '\n') boot_id.pop_back();
  return boot_id;
}

std::string DefaultNodeId() { return MakeNodeId(Hostname(), BootId()); }

Identity NextIdentity(const JobOptions& options) {
  static std::atomic<bool> first{true};
  const bool is_first = first.exchange(false);
  Identity identity;
  identity.secret = is_first && !options.process_secret.empty() ? BytesOfHex(options.process_secret)
                                                                : NewProcessSecret();
  identity.incarnation = IncarnationOf(identity.secret);
  identity.start_time_micros = absl::ToUnixMicros(is_first ? ProcessStart() : absl::Now());
  identity.node_id = options.node_id.empty() ? DefaultNodeId() : options.node_id;
  identity.hostname = Hostname();
  identity.pid = getpid();
  identity.cpus = BoundCpus();
  return identity;
}

}  // namespace muster::internal
