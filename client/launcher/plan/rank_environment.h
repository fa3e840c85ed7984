#ifndef MUSTER_CLIENT_LAUNCHER_PLAN_RANK_ENVIRONMENT_H_
#define MUSTER_CLIENT_LAUNCHER_PLAN_RANK_ENVIRONMENT_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "client/launcher/plan/job_plan.h"

namespace muster::launcher {

// The variable with a rank's process secret, in hexadecimal digits.
inline constexpr char kSecretVariable[] = "MUSTER_PROCESS_SECRET";

// How a process reaches the server of its MPI world.
struct MpiAccess {
  int pmi_fd = -1;                     // its connection to the PMI-1 server; -1 if there is none
  std::vector<std::string> pmix = {};  // "NAME=value" for PMIx; empty if there is no PMIx server
};

// One start of a process for a rank.
struct RankStart {
  int local_rank = 0;
  // The process secret, 16 bytes. With it, the process and its launcher prove that they belong
  // together.
  std::string secret;
  int restarts = 0;                // number of processes started before for this rank
  std::string activity_file = {};  // where it records what its communicators do; empty: nowhere
  MpiAccess mpi = {};
};

// The environment variables of a rank, by name. A variable without a value must be unset: if the
// launcher is itself a rank of another job, it has these variables with that job's values.
using RankVariables = std::map<std::string, std::optional<std::string>>;
RankVariables VariablesOf(const JobPlan& plan, const RankStart& start);

// Returns `base`, a list of "NAME=value", with `variables` set or unset in it.
std::vector<std::string> Merge(const std::vector<std::string>& base,
                               const RankVariables& variables);

// Returns the credential files that this process's environment names.
CredentialFiles CredentialsFromEnvironment();

// Returns this process's own environment as "NAME=value".
std::vector<std::string> CurrentEnvironment();

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_PLAN_RANK_ENVIRONMENT_H_
