#ifndef MUSTER_ERROR_FACTS_H_
#define MUSTER_ERROR_FACTS_H_

#include "muster/cxx17.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"

// The processes that an error names, for programs that act on them:
//
//   const absl::Status status = job.Barrier("loaded");
//   const muster::ErrorFacts facts = muster::FactsOf(status);
//   if (absl::IsAborted(status) && !facts.node.empty()) ReportNode(facts.node, facts.cause);
//
// The facts are a payload of the status, "muster.error". If you copy an error to add text, copy its
// payloads too. Status::ToString() and operator<< print the payload after the message, which names
// the same: "ABORTED: ... [muster.error='rank=3 node=gpu-7 pid=4411 ...']". message() is the text
// alone, and so is ToString(absl::StatusToStringMode::kWithNoExtraData) with the code.
namespace muster {

// The processes that an error names. Fields are empty if the error does not say, or if the program
// made the error itself.
struct ErrorFacts {
  // The rank in the job that the error names first: a rank that was lost, has not come, has broken
  // a connection, or whose work has failed.
  std::optional<int> rank;
  // Its node, as Member::node_id. Before the job has formed, the node's name or its host.
  std::string node;
  // Its process id on its host.
  std::optional<int64_t> pid;
  // Why the rank was lost: "killed by signal 9 (SIGKILL)".
  std::string cause;
  // All ranks of the job that were lost, or that a time-out waited for, in ascending order. The
  // coordinator names at most 32 ranges of ranks, such as 8-15, and leaves out the ranks after
  // them.
  std::vector<int> missing_ranks;
};

// Returns whom the error names; nothing for OK. Does not block. Thread-safe.
ErrorFacts FactsOf(const absl::Status& status);

}  // namespace muster

#endif  // MUSTER_ERROR_FACTS_H_
