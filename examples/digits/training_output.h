#ifndef MUSTER_EXAMPLES_DIGITS_TRAINING_OUTPUT_H_
#define MUSTER_EXAMPLES_DIGITS_TRAINING_OUTPUT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "examples/digits/dataset.h"
#include "examples/digits/digits_flags.h"
#include "examples/digits/model.h"
#include "examples/digits/trainer.h"
#include "muster/communicator.h"
#include "muster/job.h"

namespace digits {

// The output of rank 0 on the terminal and in files.

// Prints the ranks, and the size of the data set.
void PrintSetup(const muster::Job& job, const muster::Communicator& communicator,
                const Dataset& data);

// Prints one line of progress.
void PrintEpoch(const EpochReport& report);

// Prints the program's last line, "final loss=L accuracy=A", in twelve significant digits.
void PrintResult(const EpochReport& last);

// Writes the curve as JSON.
absl::Status WriteCurve(const std::string& path, const TrainingOptions& options, int world_size,
                        const std::vector<EpochReport>& curve);

// Writes the parameters as CSV, one line for each class.
absl::Status WriteParameters(const std::string& path, const Parameters& parameters);

}  // namespace digits

#endif  // MUSTER_EXAMPLES_DIGITS_TRAINING_OUTPUT_H_
