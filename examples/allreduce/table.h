#ifndef MUSTER_EXAMPLES_ALLREDUCE_TABLE_H_
#define MUSTER_EXAMPLES_ALLREDUCE_TABLE_H_

#include "examples/allreduce/flags.h"
#include "examples/allreduce/measure.h"
#include "examples/allreduce/plane.h"
#include "examples/allreduce/work.h"
#include "muster/job.h"

namespace allreduce {

// The output of rank 0, each line as soon as it is known. Lines that are not rows begin with '#'.

// Prints the ranks, the data plane, and the table's head.
void PrintHead(const muster::Job& job, const Plane& plane, const Flags& flags);

// Prints the row of one size.
void PrintRow(const Work& work, const Measurement& measurement);

// Prints the program's last line: the mean bus bandwidth and the sum of wrong values.
void PrintSummary(double mean_bus_bandwidth, int64_t wrong);

// Return bandwidths in GB/s.
double AlgorithmBandwidth(const Work& work, const Measurement& measurement);
double BusBandwidth(const Work& work, const Measurement& measurement);

}  // namespace allreduce

#endif  // MUSTER_EXAMPLES_ALLREDUCE_TABLE_H_
