// Steps on a workspace that the ranks share (muster/workspace.h). The argument is the folder.

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "muster/workspace.h"
#include "tests/rank/interpreter.h"
#include "tests/rank/steps.h"

namespace muster::testing {
namespace {

constexpr int kElements = 3;

// Writes a configuration whose tensor repeats what its JSON says.
absl::Status Write(const Workspace& workspace, int value) {
  const std::vector<int32_t> data(kElements, value);
  return workspace.Write({absl::StrCat(value), {{"x", ViewOf(data)}}});
}

absl::StatusOr<std::string> ReadOne(const Workspace& workspace, int rank) {
  const auto read = workspace.Read(rank);
  if (!read.ok()) return read.status();
  if (!read->has_value()) return std::string("absent");
  const auto data = (*read)->tensors.at("x").As<int32_t>();
  if (!data.ok()) return data.status();
  return absl::StrCat((*read)->json, ": ", absl::StrJoin(*data, ","));
}

// Reads one rank more than there are, which has never written.
absl::Status PrintAll(const Job& job, const std::string& folder) {
  const auto workspace = Workspace::OpenForReading(folder);
  if (!workspace.ok()) return workspace.status();
  for (int rank = 0; rank <= job.world_size(); ++rank) {
    const auto text = ReadOne(*workspace, rank);
    if (!text.ok()) return text.status();
    Print(absl::StrCat("rank ", rank, " has ", *text));
  }
  return absl::OkStatus();
}

absl::Status OpenAndWrite(const Job& job, const std::string& folder) {
  const auto workspace = Workspace::Open(folder, job.rank());
  if (!workspace.ok()) return workspace.status();
  return Write(*workspace, job.rank());
}

absl::Status Share(Job& job, const std::string& folder, bool late) {
  const bool waits = late && job.is_main();
  absl::Status status = waits ? absl::OkStatus() : OpenAndWrite(job, folder);
  if (status.ok()) status = job.Barrier("the others have written");
  if (status.ok() && waits) status = OpenAndWrite(job, folder);
  if (status.ok()) status = job.Barrier("all have written");
  return status.ok() ? PrintAll(job, folder) : status;
}

absl::Status WriteForever(const std::string& folder) {
  const auto workspace = Workspace::Open(folder, 0);
  absl::Status status = workspace.status();
  for (int version = 0; status.ok(); ++version) {
    status = Write(*workspace, version);
    if (version == 0) Print("writing");
  }
  return status;
}

absl::Status Killed(Job& job, const std::string& folder) {
  if (job.is_main()) return WriteForever(folder);
  const absl::Status lost = job.AwaitFailure(absl::Minutes(1));
  Print(lost.ToString(absl::StatusToStringMode::kWithNoExtraData));
  return PrintAll(job, folder);
}

}  // namespace

Steps WorkspaceSteps() {
  return {
      {"share", [](Job& job, const std::string& folder) { return Share(job, folder, false); }},
      {"share-late", [](Job& job, const std::string& folder) { return Share(job, folder, true); }},
      {"read-of-the-killed", Killed},
  };
}

}  // namespace muster::testing
