#ifndef MUSTER_SERVER_CORE_API_OBSERVATION_H_
#define MUSTER_SERVER_CORE_API_OBSERVATION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/rpc/process_condition.h"
#include "server/core/api/basic_types.h"

// The launchers' observations of the processes of their ranks. The messages of the same names say
// what each field means.
namespace muster::core {

struct CommunicatorCount {
  std::string name;
  std::string operation;
  uint64_t begun = 0;
  uint64_t ended = 0;
  absl::Duration since;
};

struct RankObservation {
  Incarnation incarnation;
  // the member's; else the rank for which its launcher has started the process
  std::optional<uint32_t> rank;
  int64_t pid = 0;
  ProcessCondition condition = ProcessCondition::kUnknown;
  std::string call;
  std::string target;
  std::optional<absl::Duration> in_call_for;
  uint32_t cpu_percent = 0;
  std::string thread;
  std::string blocked_by;
  bool dead_lock = false;
  std::string kernel_function;
  std::vector<CommunicatorCount> communicators;
  std::string node = {};  // its launcher's node
};

struct LauncherIdentity {
  std::string id;  // made from its secret, as an incarnation is
  std::string node;
  int64_t pid = 0;
  std::vector<Incarnation> processes = {};  // the processes that it has shown to be its own
};

struct BundleFile {
  std::string name;
  Bytes content;  // never null
};

// One launcher's report to an inquiry.
struct LauncherReport {
  LauncherIdentity launcher;
  std::vector<RankObservation> ranks;
  std::vector<BundleFile> files;
  bool complete = false;
};

// A launcher that is there, or was, as a verdict sees it.
struct LauncherView {
  std::string node;
  bool reported = false;
  std::vector<Incarnation> processes = {};
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_API_OBSERVATION_H_
