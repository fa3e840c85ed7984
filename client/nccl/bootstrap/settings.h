#ifndef MUSTER_CLIENT_NCCL_BOOTSTRAP_SETTINGS_H_
#define MUSTER_CLIENT_NCCL_BOOTSTRAP_SETTINGS_H_

#include <nccl.h>

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "muster/group.h"
#include "muster/sdk/v1/peers.pb.h"

// NCCL's variables (NCCL_ALGO and others) as NCCL reads them: from the environment, else from its
// configuration files. Ranks must agree on some of them.
namespace muster::internal {

using sdk::v1::NcclPeerInfo;

// The value of a variable of NCCL, and its place.
struct NcclVariable {
  std::string value;
  std::string place;  // "/etc/nccl.conf, line 3"; empty for the environment
};

// Returns all variables that are set, by name.
//
// NCCL reads its files when it is first used and puts their variables into the environment
// (src/misc/param.cc). The files are NCCL_CONF_FILE (from NCCL 2.23 on) or else ~/.nccl.conf, then
// /etc/nccl.conf; the first file that names a variable counts. NCCL up to 2.28 takes the user's
// home directory, 2.30 takes HOME, so both are read.
std::map<std::string, NcclVariable> NcclVariables();

// Returns FAILED_PRECONDITION if a variable makes NCCL mix up communicators or block. The error
// names the variable, and its file and line if it is in one.
absl::Status CheckNcclVariables(const std::map<std::string, NcclVariable>& variables);

// Adds to `info` the variables, and the fields of NcclOptions::config, that must be alike on all
// ranks.
void AddSettings(const std::map<std::string, NcclVariable>& variables, const ncclConfig_t& config,
                 NcclPeerInfo* info);

// Returns FAILED_PRECONDITION, the same on all ranks, if two ranks differ in such a setting. The
// error names the setting, the ranks and both values. `infos` are in the group's order.
absl::Status CheckSettings(const Group& group, const std::vector<NcclPeerInfo>& infos);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_NCCL_BOOTSTRAP_SETTINGS_H_
