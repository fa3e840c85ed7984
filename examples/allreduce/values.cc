#include "examples/allreduce/values.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "examples/allreduce/element.h"

namespace allreduce {
namespace {

using muster::ReduceOp;

// Returns element i of a rank's input. Values are small, so that a sum over many ranks still fits
// into 8 bits. For products, only one rank has a 2, and the others have 1.
double Value(const Work& work, int rank, size_t i) {
  if (work.op == ReduceOp::kProduct) return i % work.ranks == static_cast<size_t>(rank) ? 2 : 1;
  return static_cast<double>((rank + i) % 3);
}

double Combine(ReduceOp op, double a, double b) {
  switch (op) {
    case ReduceOp::kSum:
    case ReduceOp::kAverage:
      return a + b;
    case ReduceOp::kProduct:
      return a * b;
    case ReduceOp::kMin:
      return std::min(a, b);
    case ReduceOp::kMax:
      return std::max(a, b);
    default:  // --op has no others
      return a;
  }
}

// Wraps a sum as integers do, which matters if many ranks add 8-bit numbers.
double Wrapped(muster::DataType type, double sum) {
  if (type == muster::DataType::kUint8) return std::fmod(sum, 256);
  if (type == muster::DataType::kInt8) return std::fmod(sum + 128, 256) - 128;
  return sum;
}

double Reduced(const Work& work, size_t i) {
  double value = Value(work, 0, i);
  for (int rank = 1; rank < work.ranks; ++rank) {
    value = Combine(work.op, value, Value(work, rank, i));
  }
  value = Wrapped(work.type, value);
  if (work.op != ReduceOp::kAverage) return value;
  value /= work.ranks;
  return Epsilon(work.type) == 0 ? std::trunc(value) : value;
}

// Returns element `i` of the expected output of `rank`.
double Expected(const Work& work, int rank, size_t i) {
  switch (work.collective) {
    case Collective::kAllReduce:
    case Collective::kReduce:
      return Reduced(work, i);
    case Collective::kReduceScatter:
      return Reduced(work, rank * work.count + i);
    case Collective::kBroadcast:
      return Value(work, 0, i);
    case Collective::kAllGather:
      return Value(work, static_cast<int>(i / work.count), i % work.count);
    case Collective::kSendRecv:
      return Value(work, (rank + work.ranks - 1) % work.ranks, i);
  }
  return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

std::string Input(const Work& work, int rank) {
  const size_t size = SizeOf(work.type);
  std::string bytes(InCount(work) * size, '\0');
  for (size_t i = 0; i < InCount(work); ++i) {
    Store(work.type, Value(work, rank, i), &bytes[i * size]);
  }
  return bytes;
}

size_t CountWrong(const Work& work, int rank, const std::string& output) {
  if (work.collective == Collective::kReduce && rank != 0) return 0;  // it gets no output
  const size_t size = SizeOf(work.type);
  // Each rank's addition may round once.
  const double tolerance = Epsilon(work.type) * work.ranks;
  size_t wrong = 0;
  for (size_t i = 0; i < OutCount(work); ++i) {
    const double expected = Expected(work, rank, i);
    const double error = std::fabs(Load(work.type, &output[i * size]) - expected);
    if (!(error <= tolerance * std::fabs(expected))) ++wrong;  // NaN is wrong too
  }
  return wrong;
}

}  // namespace allreduce
