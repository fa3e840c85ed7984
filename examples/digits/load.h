#ifndef MUSTER_EXAMPLES_DIGITS_LOAD_H_
#define MUSTER_EXAMPLES_DIGITS_LOAD_H_

#include <string>

#include "absl/status/statusor.h"
#include "examples/digits/dataset.h"
#include "muster/job.h"

namespace digits {

// Loads the data set from a .csv or .csv.gz file. One rank of each node unpacks it for all of them.
// A collective of the world: if it fails on any rank, every rank gets the same error.
absl::StatusOr<Dataset> LoadDataset(muster::Job& job, const std::string& file);

}  // namespace digits

#endif  // MUSTER_EXAMPLES_DIGITS_LOAD_H_
