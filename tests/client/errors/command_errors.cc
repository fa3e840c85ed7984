#include "tests/client/errors/command_errors.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/process/known_variables.h"
#include "muster/job_options.h"
#include "server/daemon/daemon_flags.h"
#include "server/service/server.h"
#include "tests/util/job/ranks.h"
#include "tests/util/network/certificates.h"

namespace muster::testing {
namespace {

constexpr cli::Machine kMachine = {/*gpus=*/0, /*cpus=*/4};

// Parses the flags as main() does. Returns nullopt if they are right.
std::optional<int> Parse(std::vector<std::string> flags, daemon::Flags* parsed) {
  flags.insert(flags.begin(), "musterd");
  std::vector<char*> argv;
  for (std::string& flag : flags) argv.push_back(flag.data());
  argv.push_back(nullptr);
  return daemon::ParseFlags(static_cast<int>(flags.size()), argv.data(), parsed);
}

bool IsOfALauncher(const std::string& name) {
  for (const char* prefix : {"MUSTER_", "SLURM_", "OMPI_", "PMI", "PET_", "LWS_"}) {
    if (absl::StartsWith(name, prefix) && !absl::StartsWith(name, "MUSTER_TEST_")) return true;
  }
  return name == "RANK" || name == "WORLD_SIZE" || name == "LOCAL_RANK" ||
         name == "JOB_COMPLETION_INDEX";
}

void ClearVariables() {
  std::vector<std::string> names;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string text = *variable;
    const std::string name = text.substr(0, text.find('='));
    if (IsOfALauncher(name)) names.push_back(name);
  }
  for (const std::string& name : names) unsetenv(name.c_str());
}

}  // namespace

std::string MusterSays(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), LaunchCommand({}, {})[0]);
  const auto muster = Process::Start(arguments, {{"MUSTER_RUNTIME_DIR", MakeTempDir()}});
  EXPECT_FALSE(muster->Wait() == (Exit{false, 0}));
  return muster->Output();
}

std::string RunFlagsSay(const std::function<void(cli::RunFlags*)>& change) {
  cli::RunFlags flags;
  flags.program = {"./train"};
  change(&flags);
  return std::string(cli::MakeLaunchPlan(flags, "run-1", kMachine).status().message());
}

std::string MusterdFlagsSay(std::vector<std::string> flags) {
  daemon::Flags parsed;
  ::testing::internal::CaptureStderr();
  const std::optional<int> status = Parse(std::move(flags), &parsed);
  std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(status, 64) << said;
  return said;
}

std::string ServingSays(const std::vector<std::string>& flags) {
  daemon::Flags parsed;
  EXPECT_EQ(Parse(flags, &parsed), std::nullopt);
  return std::string(service::Server::Start(parsed.server).status().message());
}

std::string ServingAtATakenPortSays() {
  service::ServerOptions options;
  options.listen_address = "127.0.0.1:0";
  const absl::StatusOr<std::unique_ptr<service::Server>> first = service::Server::Start(options);
  EXPECT_TRUE(first.ok()) << first.status();
  options.listen_address = (*first)->address();
  return std::string(service::Server::Start(options).status().message());
}

std::string ServingWithATokenFileSays(const std::string& content) {
  const std::string path = absl::StrCat(MakeTempDir(), "/token");
  ReplaceFile(path, content);
  return ServingSays({"--listen=127.0.0.1:0", absl::StrCat("--token-file=", path)});
}

std::string VariablesSay(const std::map<std::string, std::string>& variables) {
  ClearVariables();
  for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
  const absl::StatusOr<JobOptions> options = JobOptions::FromEnvironment();
  ClearVariables();
  return std::string(options.status().message());
}

std::string WarningAbout(const std::string& variable) {
  const std::vector<std::string> warnings = UnknownVariableWarnings({variable});
  return warnings.empty() ? "" : warnings[0];
}

}  // namespace muster::testing
