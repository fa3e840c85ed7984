#ifndef MUSTER_CLIENT_LAUNCHER_RANK_ENVIRONMENT_H_
#define MUSTER_CLIENT_LAUNCHER_RANK_ENVIRONMENT_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "client/launcher/job_plan.h"

namespace muster::launcher {

// Where a rank finds its secret, in hexadecimal digits.
inline constexpr char kSecretVariable[] = "MUSTER_PROCESS_SECRET";

// One start of a process in the place of a rank.
struct RankStart {
  int local_rank = 0;
  std::string secret;              // 16 bytes, by which the process and we prove whose we are
  int restarts = 0;                // how many processes were started in this place before
  std::string activity_file = {};  // where it tells of its communicators; empty: nowhere
};

// What a rank's environment says of its place, by name. Those without a value must not be there: a
// launcher that is itself a rank of another job has them, of that job.
using RankVariables = std::map<std::string, std::optional<std::string>>;
RankVariables VariablesOf(const JobPlan& plan, const RankStart& start);

// `base`, as "NAME=value", with `variables` in place of whatever it says of them.
std::vector<std::string> Merge(const std::vector<std::string>& base,
                               const RankVariables& variables);

// What the variables of this process name.
CredentialFiles CredentialsFromEnvironment();

// This process's own environment, as "NAME=value".
std::vector<std::string> CurrentEnvironment();

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_RANK_ENVIRONMENT_H_
