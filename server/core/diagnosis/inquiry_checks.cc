// The limits on what launchers send, whatever the state of the job is.

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/core/api/validation.h"
#include "server/core/diagnosis/inquiry_tracker.h"

namespace muster::core {
namespace {

constexpr size_t kMaxRanks = 4096;
constexpr size_t kMaxFiles = 4096;
constexpr size_t kMaxCommunicators = 64;
constexpr size_t kMaxFileNameBytes = 256;
constexpr size_t kMaxObservedBytes = 1024;  // per text

bool MayBeInAName(char c) { return absl::ascii_isalnum(c) || c == '.' || c == '_' || c == '-'; }

bool IsPart(absl::string_view part) {
  return !part.empty() && part[0] != '.' && std::all_of(part.begin(), part.end(), MayBeInAName);
}

// Checks a name strictly, because readers of a report write the file to their disks.
absl::Status CheckFileName(const std::string& name) {
  const std::vector<absl::string_view> parts = absl::StrSplit(name, '/');
  const bool good = std::all_of(parts.begin(), parts.end(), IsPart);
  if (good && name.size() <= kMaxFileNameBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "files.name is no relative path of letters, digits, '.', '_' and '-', none of whose parts is "
      "empty or begins with '.', and of at most 256 bytes");
}

absl::Status CheckCount(absl::string_view what, size_t count, size_t most) {
  if (count <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("there are ", count, " ", what, "; at most ", most, " may be sent at once"));
}

absl::Status CheckCommunicators(const RankObservation& observation) {
  absl::Status s = CheckCount("communicators", observation.communicators.size(), kMaxCommunicators);
  for (const CommunicatorCount& count : observation.communicators) {
    if (s.ok()) s = CheckOptionalName("communicators.name", count.name, kMaxObservedBytes);
    if (s.ok())
      s = CheckOptionalName("communicators.operation", count.operation, kMaxObservedBytes);
  }
  return s;
}

absl::Status CheckObservation(const RankObservation& observation) {
  absl::Status s = CheckCommunicators(observation);
  const std::pair<const char*, const std::string*> texts[] = {
      {"ranks.call", &observation.call},
      {"ranks.target", &observation.target},
      {"ranks.thread", &observation.thread},
      {"ranks.blocked_by", &observation.blocked_by},
      {"ranks.kernel_function", &observation.kernel_function}};
  for (const auto& [name, text] : texts) {
    if (s.ok()) s = CheckOptionalName(name, *text, kMaxObservedBytes);
  }
  return s;
}

}  // namespace

absl::Status CheckLauncher(const LauncherIdentity& launcher) {
  absl::Status s = CheckCount("launcher.process_secrets", launcher.processes.size(), kMaxRanks);
  return !s.ok() ? s : ValidateName("launcher.node", launcher.node, kMaxObservedBytes);
}

absl::Status CheckReportContent(const LauncherReport& report) {
  absl::Status s = CheckLauncher(report.launcher);
  if (s.ok()) s = CheckCount("ranks", report.ranks.size(), kMaxRanks);
  if (s.ok()) s = CheckCount("files", report.files.size(), kMaxFiles);
  for (const RankObservation& observation : report.ranks) {
    if (s.ok()) s = CheckObservation(observation);
  }
  for (const BundleFile& file : report.files) {
    if (s.ok()) s = CheckFileName(file.name);
  }
  return s;
}

}  // namespace muster::core
