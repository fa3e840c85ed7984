#include "examples/digits/load.h"

#include <set>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "examples/digits/unpack.h"

namespace digits {
namespace {

// Returns the path of the CSV file: `file`, or its unpacked copy in `scratch`.
absl::StatusOr<std::string> Unpack(const std::string& file, ScratchDir* scratch) {
  if (!absl::EndsWith(file, ".gz")) return file;
  absl::StatusOr<std::string> directory = scratch->Create();
  if (!directory.ok()) return directory;
  const std::string csv = absl::StrCat(*directory, "/digits.csv");
  const absl::Status unpacked = Gunzip(file, csv);
  if (!unpacked.ok()) return unpacked;
  return csv;
}

// Combines the errors of all ranks, each text once, since all ranks may find the same mistake.
absl::Status Combine(const std::vector<std::string>& errors) {
  std::set<std::string> distinct(errors.begin(), errors.end());
  distinct.erase("");
  if (distinct.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrJoin(distinct, "\n"));
}

}  // namespace

absl::StatusOr<Dataset> LoadDataset(muster::Job& job, const std::string& file) {
  ScratchDir scratch;  // used by the ranks that unpack
  // A lease: the first rank of each node unpacks the file, and the others wait for its path. A
  // completed lease stays completed, but the scratch directory does not stay. So the epoch is in
  // the lease's name.
  const absl::StatusOr<std::string> csv =
      job.RunOncePerNode(absl::StrCat("unpack digits for epoch ", job.epoch()),
                         [&] { return Unpack(file, &scratch); });
  absl::StatusOr<std::vector<Image>> images =
      csv.ok() ? ReadImages(*csv, file) : absl::StatusOr<std::vector<Image>>(csv.status());
  // Tells every rank whether all of them are ready. When this returns, all ranks have read the
  // file, so the scratch directory may go.
  const absl::StatusOr<std::vector<std::string>> errors =
      job.AllGather(std::string(images.status().message()));
  if (!errors.ok()) return errors.status();
  const absl::Status combined = Combine(*errors);
  if (!combined.ok()) return combined;
  return Split(*std::move(images));
}

}  // namespace digits
