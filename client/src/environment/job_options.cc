#include "muster/job_options.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "client/src/base/checks.h"
#include "client/src/environment/process_placement.h"
#include "client/src/environment/read_job_options.h"
#include "common/credentials/credential_files.h"
#include "common/names/host_port.h"

namespace muster {
namespace {

// Returns the field's name in programs and in the environment.
std::string FieldName(absl::string_view field) {
  return absl::StrCat("JobOptions::", field, " (MUSTER_", absl::AsciiStrToUpper(field), ")");
}

absl::Status OutOfRange(absl::string_view field, const std::optional<int>& value, int least,
                        absl::string_view what) {
  if (!value || *value >= least) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(FieldName(field), " is ", *value, "; expected ", what, " of at least ", least));
}

absl::Status CheckNumbers(const JobOptions& options) {
  absl::Status status = OutOfRange("world_size", options.world_size, 1, "a number of processes");
  status.Update(OutOfRange("rank", options.rank, 0, "a rank"));
  status.Update(OutOfRange("local_rank", options.local_rank, 0, "a rank"));
  status.Update(OutOfRange("node_rank", options.node_rank, 0, "a rank"));
  if (!status.ok()) return status;
  if (options.rank && options.world_size && *options.rank >= *options.world_size) {
    return absl::InvalidArgumentError(
        absl::StrCat(FieldName("rank"), " is ", *options.rank, " but ", FieldName("world_size"),
                     " is ", *options.world_size, "; expected a rank below the world size"));
  }
  return absl::OkStatus();
}

// The error does not repeat the secret, because errors are logged.
absl::Status CheckSecret(const std::string& secret) {
  const bool hex = std::all_of(secret.begin(), secret.end(), absl::ascii_isxdigit);
  if (secret.empty() || (secret.size() == 32 && hex)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(FieldName("process_secret"), " is malformed (",
                                                 secret.size(),
                                                 " characters); expected 32 hexadecimal digits"));
}

absl::Status CheckPositive(absl::string_view field, absl::Duration value) {
  if (value > absl::ZeroDuration() && value < absl::InfiniteDuration()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(FieldName(field), " is ",
                                                 absl::FormatDuration(value),
                                                 "; expected a positive, finite duration"));
}

absl::Status CheckAddress(const std::string& coordinator) {
  if (coordinator.empty()) return absl::OkStatus();
  const absl::Status status = ParseHostPort(coordinator).status();
  if (status.ok()) return status;
  return absl::InvalidArgumentError(absl::StrCat(FieldName("coordinator"), ": ", status.message()));
}

absl::Status CheckTexts(const JobOptions& options) {
  using internal::CheckName;
  using internal::CheckText;
  constexpr size_t kMax = internal::kDefaultMaxNameBytes;
  absl::Status status = CheckName(absl::StrCat("job id in ", FieldName("job")), options.job, kMax);
  status.Update(
      CheckText(absl::StrCat("node id in ", FieldName("node_id")), options.node_id, kMax));
  status.Update(
      CheckText(absl::StrCat("topology in ", FieldName("topology")), options.topology, kMax));
  return status;
}

absl::Status CheckCredentials(const JobOptions& options) {
  const absl::Status status =
      CheckCredentialFields({options.token_file, options.tls_ca, options.tls_cert, options.tls_key,
                             options.tls_server_name});
  if (status.ok()) return status;
  return absl::InvalidArgumentError(absl::StrCat("JobOptions: ", status.message()));
}

}  // namespace

absl::StatusOr<JobOptions> JobOptions::FromEnvironment() {
  absl::StatusOr<JobOptions> options = internal::ReadJobOptions(internal::ProcessVariables());
  if (options.ok() && !options->local_rank) options->local_rank = internal::HintedLocalRank();
  return options;
}

absl::Status JobOptions::Validate() const {
  absl::Status status = CheckAddress(coordinator);
  status.Update(CheckTexts(*this));
  status.Update(CheckNumbers(*this));
  status.Update(CheckSecret(process_secret));
  status.Update(CheckPositive("timeout", timeout));
  status.Update(CheckPositive("coordinator_timeout", coordinator_timeout));
  status.Update(CheckCredentials(*this));
  return status;
}

}  // namespace muster
