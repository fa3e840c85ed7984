#ifndef MUSTER_CLIENT_NCCL_SETTINGS_H_
#define MUSTER_CLIENT_NCCL_SETTINGS_H_

#include <nccl.h>

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "muster/group.h"
#include "muster/sdk/v1/peers.pb.h"

// NCCL's variables (NCCL_ALGO...), as NCCL takes them: from the environment, else from its
// configuration files.
namespace muster::internal {

using sdk::v1::NcclPeerInfo;

struct NcclVariable {
  std::string value;
  std::string place;  // "/etc/nccl.conf, line 3"; empty: the environment
};

// All that are set, by name.
//
// The files are those that NCCL reads when it is first used, after which their variables are in the
// environment (src/misc/param.cc): NCCL_CONF_FILE (from NCCL 2.23 on), else ~/.nccl.conf, then
// /etc/nccl.conf; the first to name a variable counts. Up to 2.28 NCCL takes the home of the user
// and in 2.30 that of HOME, so both are read.
std::map<std::string, NcclVariable> NcclVariables();

// FAILED_PRECONDITION if a variable makes NCCL do what this library cannot bear. Names the file and
// the line if it is in one.
absl::Status CheckNcclVariables(const std::map<std::string, NcclVariable>& variables);

// Puts into `info` what must be alike on all ranks, of the variables and of NcclOptions::config.
void AddSettings(const std::map<std::string, NcclVariable>& variables, const ncclConfig_t& config,
                 NcclPeerInfo* info);

// FAILED_PRECONDITION, the same on all ranks, if two of them differ in such a setting: names it,
// the ranks and what both have. `infos` are in the group's order.
absl::Status CheckSettings(const Group& group, const std::vector<NcclPeerInfo>& infos);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_NCCL_SETTINGS_H_
