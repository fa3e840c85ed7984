// One rank of the workspace's tests. Arguments: the folder, and what it does:
//
//   share    write, wait for all, read all
//   late     as share, but rank 0 opens the workspace only when the others have written
//   killed   rank 0 writes one version after another until it is killed; the others then read

#include <unistd.h>

#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "muster/job.h"
#include "muster/workspace.h"

namespace {

constexpr int kElements = 3;

void Print(const std::string& text) { std::cout << absl::StrCat(text, "\n") << std::flush; }

// A configuration whose tensor repeats what its JSON says.
absl::Status Write(const muster::Workspace& workspace, int value) {
  const std::vector<int32_t> data(kElements, value);
  return workspace.Write({absl::StrCat(value), {{"x", muster::ViewOf(data)}}});
}

absl::StatusOr<std::string> ReadOne(const muster::Workspace& workspace, int rank) {
  const auto read = workspace.Read(rank);
  if (!read.ok()) return read.status();
  if (!read->has_value()) return std::string("absent");
  const auto data = (*read)->tensors.at("x").As<int32_t>();
  if (!data.ok()) return data.status();
  return absl::StrCat((*read)->json, ": ", absl::StrJoin(*data, ","));
}

// One more than there are: that one has never written.
absl::Status PrintAll(const muster::Job& job, const std::string& folder) {
  const auto workspace = muster::Workspace::OpenForReading(folder);
  if (!workspace.ok()) return workspace.status();
  for (int rank = 0; rank <= job.world_size(); ++rank) {
    const auto text = ReadOne(*workspace, rank);
    if (!text.ok()) return text.status();
    Print(absl::StrCat("rank ", rank, " has ", *text));
  }
  return absl::OkStatus();
}

absl::Status OpenAndWrite(const muster::Job& job, const std::string& folder) {
  const auto workspace = muster::Workspace::Open(folder, job.rank());
  if (!workspace.ok()) return workspace.status();
  return Write(*workspace, job.rank());
}

absl::Status Share(muster::Job& job, const std::string& folder, bool late) {
  const bool waits = late && job.is_main();
  absl::Status status = waits ? absl::OkStatus() : OpenAndWrite(job, folder);
  if (status.ok()) status = job.Barrier("the others have written");
  if (status.ok() && waits) status = OpenAndWrite(job, folder);
  if (status.ok()) status = job.Barrier("all have written");
  if (status.ok()) status = PrintAll(job, folder);
  return status.ok() ? job.Leave() : status;
}

absl::Status WriteForever(const std::string& folder) {
  const auto workspace = muster::Workspace::Open(folder, 0);
  absl::Status status = workspace.status();
  for (int version = 0; status.ok(); ++version) {
    status = Write(*workspace, version);
    if (version == 0) Print("writing");
  }
  return status;
}

absl::Status Killed(muster::Job& job, const std::string& folder) {
  if (job.is_main()) return WriteForever(folder);
  const absl::Status lost = job.AwaitFailure(absl::Minutes(1));
  Print(lost.ToString());
  return PrintAll(job, folder);
}

absl::Status Run(muster::Job& job, const std::string& folder, const std::string& what) {
  return what == "killed" ? Killed(job, folder) : Share(job, folder, what == "late");
}

}  // namespace

int main(int argc, char** argv) {
  const auto job = muster::Job::Join(muster::JobOptions::FromEnvironment());
  const absl::Status status = job.ok() ? Run(**job, argv[1], argv[2]) : job.status();
  if (status.ok()) return 0;
  Print(absl::StrCat("error: ", status.ToString()));
  return 3;
}
