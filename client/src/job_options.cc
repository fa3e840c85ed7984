#include "muster/job_options.h"

#include <algorithm>
#include <cstdlib>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/src/address.h"
#include "client/src/checks.h"

namespace muster {
namespace {

absl::Status Malformed(absl::string_view variable, absl::string_view value,
                       absl::string_view expected) {
  if (value.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(variable, " is set but empty; expected ", expected, ", or unset it"));
  }
  return absl::InvalidArgumentError(
      absl::StrCat(variable, " is '", absl::CEscape(value), "'; expected ", expected));
}

// Reads variables one after another and keeps the first error.
class Environment {
 public:
  void Read(const char* variable, absl::string_view expected, std::string* out) {
    const std::optional<std::string> value = Get(variable);
    if (!value) return;
    if (value->empty()) return Fail(Malformed(variable, *value, expected));
    *out = *value;
  }

  void Read(const char* variable, int least, absl::string_view expected, std::optional<int>* out) {
    const std::optional<std::string> value = Get(variable);
    if (!value) return;
    int number = 0;
    const bool digits = std::all_of(value->begin(), value->end(), absl::ascii_isdigit);
    if (!digits || !absl::SimpleAtoi(*value, &number) || number < least) {
      return Fail(Malformed(variable, *value, expected));
    }
    *out = number;
  }

  void Read(const char* variable, absl::Duration* out) {
    const std::optional<std::string> value = Get(variable);
    if (!value) return;
    absl::Duration duration;
    if (!absl::ParseDuration(*value, &duration) || duration <= absl::ZeroDuration() ||
        duration == absl::InfiniteDuration()) {
      return Fail(Malformed(variable, *value, "a positive, finite duration such as 90s or 30m"));
    }
    *out = duration;
  }

  const absl::Status& status() const { return status_; }

 private:
  static std::optional<std::string> Get(const char* variable) {
    const char* value = std::getenv(variable);
    if (value == nullptr) return std::nullopt;
    return value;
  }

  void Fail(absl::Status status) { status_.Update(status); }

  absl::Status status_;
};

// A field as programs and as the environment name it.
std::string Named(absl::string_view field) {
  return absl::StrCat("JobOptions::", field, " (MUSTER_", absl::AsciiStrToUpper(field), ")");
}

absl::Status OutOfRange(absl::string_view field, const std::optional<int>& value, int least,
                        absl::string_view what) {
  if (!value || *value >= least) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(Named(field), " is ", *value, "; expected ", what, " of at least ", least));
}

absl::Status CheckNumbers(const JobOptions& options) {
  absl::Status status = OutOfRange("world_size", options.world_size, 1, "a number of processes");
  status.Update(OutOfRange("rank", options.rank, 0, "a rank"));
  status.Update(OutOfRange("local_rank", options.local_rank, 0, "a rank"));
  status.Update(OutOfRange("node_rank", options.node_rank, 0, "a rank"));
  if (!status.ok()) return status;
  if (options.rank && options.world_size && *options.rank >= *options.world_size) {
    return absl::InvalidArgumentError(absl::StrCat(Named("rank"), " is ", *options.rank, " but ",
                                                   Named("world_size"), " is ", *options.world_size,
                                                   "; expected a rank below the world size"));
  }
  return absl::OkStatus();
}

absl::Status CheckIncarnation(const std::string& incarnation) {
  const bool hex = std::all_of(incarnation.begin(), incarnation.end(), absl::ascii_isxdigit);
  if (incarnation.empty() || (incarnation.size() == 32 && hex)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(Named("incarnation"), " is '",
                                                 absl::CEscape(incarnation),
                                                 "'; expected 32 hexadecimal digits"));
}

absl::Status CheckPositive(absl::string_view field, absl::Duration value) {
  if (value > absl::ZeroDuration() && value < absl::InfiniteDuration()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(Named(field), " is ", absl::FormatDuration(value),
                                                 "; expected a positive, finite duration"));
}

absl::Status CheckAddress(const std::string& coordinator) {
  if (coordinator.empty()) return absl::OkStatus();
  const absl::Status status = internal::ParseAddress(coordinator).status();
  if (status.ok()) return status;
  return absl::InvalidArgumentError(absl::StrCat(Named("coordinator"), ": ", status.message()));
}

absl::Status CheckTexts(const JobOptions& options) {
  using internal::CheckName;
  using internal::CheckText;
  constexpr size_t kMax = internal::kDefaultMaxNameBytes;
  absl::Status status = CheckName(absl::StrCat("job id in ", Named("job")), options.job, kMax);
  status.Update(CheckText(absl::StrCat("node id in ", Named("node_id")), options.node_id, kMax));
  status.Update(CheckText(absl::StrCat("topology in ", Named("topology")), options.topology, kMax));
  return status;
}

// A process that was told to be one of several must not run as a job of its own.
absl::Status RefuseAccidentalSerialMode() {
  Environment environment;
  for (const char* variable : {"MUSTER_WORLD_SIZE", "WORLD_SIZE"}) {
    std::optional<int> size;
    environment.Read(variable, 1, "a number of processes of at least 1", &size);
    if (!environment.status().ok()) return environment.status();
    if (size.value_or(1) == 1) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        variable, " says that the job has ", *size,
        " processes, but MUSTER_COORDINATOR is not set, and without a coordinator each "
        "would run alone; set it to host:port of musterd, or use muster run"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<JobOptions> JobOptions::FromEnvironment() {
  constexpr absl::string_view kRank = "a rank of at least 0";
  JobOptions options;
  Environment environment;
  environment.Read("MUSTER_COORDINATOR", "host:port or [ipv6]:port", &options.coordinator);
  environment.Read("MUSTER_JOB", "the job's id", &options.job);
  environment.Read("MUSTER_WORLD_SIZE", 1, "a number of processes of at least 1",
                   &options.world_size);
  environment.Read("MUSTER_RANK", 0, kRank, &options.rank);
  environment.Read("MUSTER_LOCAL_RANK", 0, kRank, &options.local_rank);
  environment.Read("MUSTER_NODE_RANK", 0, kRank, &options.node_rank);
  environment.Read("MUSTER_NODE_ID", "the node's id", &options.node_id);
  environment.Read("MUSTER_TOPOLOGY", "zone/rack/switch", &options.topology);
  environment.Read("MUSTER_INCARNATION", "32 hexadecimal digits", &options.incarnation);
  environment.Read("MUSTER_TIMEOUT", &options.timeout);
  environment.Read("MUSTER_COORDINATOR_TIMEOUT", &options.coordinator_timeout);
  if (!environment.status().ok()) return environment.status();
  if (absl::Status status = options.Validate(); !status.ok()) return status;
  if (!options.coordinator.empty()) return options;
  if (absl::Status status = RefuseAccidentalSerialMode(); !status.ok()) return status;
  return options;
}

absl::Status JobOptions::Validate() const {
  absl::Status status = CheckAddress(coordinator);
  status.Update(CheckTexts(*this));
  status.Update(CheckNumbers(*this));
  status.Update(CheckIncarnation(incarnation));
  status.Update(CheckPositive("timeout", timeout));
  status.Update(CheckPositive("coordinator_timeout", coordinator_timeout));
  return status;
}

}  // namespace muster
