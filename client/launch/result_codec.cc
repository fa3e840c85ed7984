#include "client/launch/result_codec.h"

#include <utility>

#include "client/src/base/error_note.h"
#include "client/src/base/outcome.h"
#include "muster/codec.h"

namespace muster::internal {
namespace {

// The numbers of a LaunchedProcess.
struct Numbers {
  int64_t pid;
  int32_t rank;
  int32_t local_rank;
  int32_t exit_status;
  int32_t signal;  // 0: not signaled
  int32_t was_ended;
};

Numbers NumbersOf(const LaunchedProcess& process) {
  return {process.pid,
          process.rank,
          process.local_rank,
          process.exit_status,
          process.signal.value_or(0),
          process.was_ended};
}

LaunchedProcess ToProcess(const Numbers& numbers, absl::Status status) {
  LaunchedProcess process;
  process.rank = numbers.rank;
  process.local_rank = numbers.local_rank;
  process.pid = numbers.pid;
  process.exit_status = numbers.exit_status;
  if (numbers.signal != 0) process.signal = numbers.signal;
  process.was_ended = numbers.was_ended != 0;
  // A process that has ended without a report has a status without its exit code.
  const int code = numbers.signal != 0 ? 128 + numbers.signal : numbers.exit_status;
  // An exit status of 0 means that the process had not called Leave().
  const bool has_code = ExitCode(status) == code || code == 0;
  process.status = has_code ? std::move(status) : WithExitCode(status, code);
  return process;
}

absl::StatusOr<LaunchResult> ReadResult(absl::string_view bytes) {
  const auto first_failed = Codec<int32_t>::Read(&bytes);
  if (!first_failed.ok()) return first_failed.status();
  const auto coordinator = Codec<std::string>::Read(&bytes);
  if (!coordinator.ok()) return coordinator.status();
  const auto numbers = Codec<std::vector<Numbers>>::Read(&bytes);
  if (!numbers.ok()) return numbers.status();
  LaunchResult result;
  if (*first_failed >= 0) result.first_failed_rank = *first_failed;
  result.coordinator = WithExitCode(UnpackStatus(*coordinator), kExitCoordinatorLost);
  for (const Numbers& entry : *numbers) {
    const auto status = Codec<std::string>::Read(&bytes);
    if (!status.ok()) return status.status();
    result.processes.push_back(ToProcess(entry, UnpackStatus(*status)));
  }
  return result;
}

std::string WriteResult(const LaunchResult& result) {
  std::string bytes = Encode<int32_t>(result.first_failed_rank.value_or(-1));
  Codec<std::string>::Append(PackStatus(result.coordinator), &bytes);
  std::vector<Numbers> numbers;
  for (const LaunchedProcess& process : result.processes) numbers.push_back(NumbersOf(process));
  Codec<std::vector<Numbers>>::Append(numbers, &bytes);
  for (const LaunchedProcess& process : result.processes) {
    Codec<std::string>::Append(PackStatus(process.status), &bytes);
  }
  return bytes;
}

}  // namespace

std::string PackResult(const absl::StatusOr<LaunchResult>& result) {
  if (!result.ok()) return PackOutcome(result.status());
  return PackOutcome(WriteResult(*result));
}

absl::StatusOr<LaunchResult> UnpackResult(absl::string_view bytes) {
  const absl::StatusOr<std::string> outcome = UnpackOutcome(bytes);
  if (!outcome.ok()) return outcome.status();
  return ReadResult(*outcome);
}

}  // namespace muster::internal
