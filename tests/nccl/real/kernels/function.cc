#include "tests/nccl/real/kernels/function.h"

#include <map>
#include <vector>

#include "tests/nccl/real/kernels/kernel_memory.h"

namespace cpu_nccl {
namespace {

// The collectives that ncclDevFuncId() knows, with the algorithms of each. It takes any other
// algorithm for the last one.
struct Row {
  ncclFunc_t collective;
  std::vector<int> algorithms;
};

const std::vector<int>& Gathering() {
  static const auto* const algorithms = new std::vector<int> {
    NCCL_ALGO_RING, NCCL_ALGO_COLLNET_DIRECT, NCCL_ALGO_NVLS,
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 23, 0)
        NCCL_ALGO_PAT,
#endif
  };
  return *algorithms;
}

std::vector<Row> Rows() {
  return {
    {ncclFuncSendRecv, {NCCL_ALGO_RING}}, {ncclFuncAllGather, Gathering()},
        {ncclFuncBroadcast, {NCCL_ALGO_RING}},
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 30, 0)
        {ncclFuncAllGatherV, {NCCL_ALGO_RING}},
#endif
        {ncclFuncAllReduce,
         {NCCL_ALGO_TREE, NCCL_ALGO_RING, NCCL_ALGO_COLLNET_DIRECT, NCCL_ALGO_COLLNET_CHAIN,
          NCCL_ALGO_NVLS, NCCL_ALGO_NVLS_TREE}},
        {ncclFuncReduce, {NCCL_ALGO_RING}}, {ncclFuncReduceScatter, Gathering()},
  };
}

using Functions = std::map<int, Function>;

void Add(const Function& function, Functions& functions) {
  const int id = ncclDevFuncId(function.collective, function.operation, function.type,
                               function.algorithm, function.protocol);
  if (id >= 0) functions.emplace(id, function);
}

void AddOperations(Function function, Functions& functions) {
  for (function.operation = 0; function.operation < ncclNumDevRedOps; ++function.operation) {
    for (int type = 0; type < ncclNumTypes; ++type) {
      function.type = static_cast<ncclDataType_t>(type);
      Add(function, functions);
    }
  }
}

Functions AllFunctions() {
  Functions functions;
  for (const Row& row : Rows()) {
    for (const int algorithm : row.algorithms) {
      for (int protocol = 0; protocol < NCCL_NUM_PROTOCOLS; ++protocol) {
        Function function;
        function.collective = row.collective;
        function.algorithm = algorithm;
        function.protocol = protocol;
        AddOperations(function, functions);
      }
    }
  }
  return functions;
}

}  // namespace

const Function& FunctionOf(int id) {
  static const auto* const functions = new Functions(AllFunctions());
  const auto found = functions->find(id);
  if (found == functions->end()) Refuse("a kernel runs device function %d, which has no name", id);
  return found->second;
}

std::string NameOf(const Function& function) {
  static constexpr const char* kAlgorithms[] = {
      "Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT"};
  static constexpr const char* kProtocols[] = {"LL", "LL128", "Simple"};
  return std::string(ncclFuncToString(function.collective)) + " by " +
         kAlgorithms[function.algorithm] + " with protocol " + kProtocols[function.protocol];
}

}  // namespace cpu_nccl
