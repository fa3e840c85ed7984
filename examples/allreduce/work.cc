#include "examples/allreduce/work.h"

#include <algorithm>

namespace allreduce {

using muster::DataType;
using muster::ReduceOp;

namespace {

// Whether a rank's buffer on one side holds a part for each rank.
bool HasParts(Collective collective) {
  return collective == Collective::kAllGather || collective == Collective::kReduceScatter;
}

}  // namespace

const char* NameOf(Collective collective) {
  switch (collective) {
    case Collective::kAllReduce:
      return "all_reduce";
    case Collective::kBroadcast:
      return "broadcast";
    case Collective::kReduce:
      return "reduce";
    case Collective::kAllGather:
      return "all_gather";
    case Collective::kReduceScatter:
      return "reduce_scatter";
    case Collective::kSendRecv:
      return "sendrecv";
  }
  return "";
}

const char* NameOf(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
      return "sum";
    case ReduceOp::kProduct:
      return "prod";
    case ReduceOp::kMin:
      return "min";
    case ReduceOp::kMax:
      return "max";
    case ReduceOp::kAverage:
      return "avg";
  }
  return "";
}

const char* NameOf(DataType type) {
  switch (type) {
    case DataType::kFloat32:
      return "float32";
    case DataType::kFloat64:
      return "float64";
    case DataType::kInt32:
      return "int32";
    case DataType::kInt64:
      return "int64";
    case DataType::kUint8:
      return "uint8";
    case DataType::kInt8:
      return "int8";
    case DataType::kUint32:
      return "uint32";
    case DataType::kUint64:
      return "uint64";
    case DataType::kFloat16:
      return "float16";
    case DataType::kBfloat16:
      return "bfloat16";
    case DataType::kFloat8E4m3:
      return "float8_e4m3";
    case DataType::kFloat8E5m2:
      return "float8_e5m2";
  }
  return "";
}

size_t SizeOf(DataType type) {
  switch (type) {
    case DataType::kFloat64:
    case DataType::kInt64:
    case DataType::kUint64:
      return 8;
    case DataType::kFloat32:
    case DataType::kInt32:
    case DataType::kUint32:
      return 4;
    case DataType::kFloat16:
    case DataType::kBfloat16:
      return 2;
    case DataType::kUint8:
    case DataType::kInt8:
    case DataType::kFloat8E4m3:
    case DataType::kFloat8E5m2:
      return 1;
  }
  return 1;
}

bool Reduces(Collective collective) {
  return collective == Collective::kAllReduce || collective == Collective::kReduce ||
         collective == Collective::kReduceScatter;
}

Work WorkOfBytes(Work work, size_t bytes) {
  const size_t parts = HasParts(work.collective) ? work.ranks : 1;
  work.count = std::max<size_t>(1, bytes / SizeOf(work.type) / parts);
  return work;
}

size_t InCount(const Work& work) {
  return work.collective == Collective::kReduceScatter ? work.count * work.ranks : work.count;
}

size_t OutCount(const Work& work) {
  return work.collective == Collective::kAllGather ? work.count * work.ranks : work.count;
}

size_t Bytes(const Work& work) {
  return std::max(InCount(work), OutCount(work)) * SizeOf(work.type);
}

double BusFactor(const Work& work) {
  const double n = work.ranks;
  switch (work.collective) {
    case Collective::kAllReduce:
      return 2 * (n - 1) / n;
    case Collective::kAllGather:
    case Collective::kReduceScatter:
      return (n - 1) / n;
    case Collective::kBroadcast:
    case Collective::kReduce:
    case Collective::kSendRecv:
      return 1;
  }
  return 1;
}

}  // namespace allreduce
