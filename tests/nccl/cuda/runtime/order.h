#ifndef MUSTER_TESTS_NCCL_CUDA_RUNTIME_ORDER_H_
#define MUSTER_TESTS_NCCL_CUDA_RUNTIME_ORDER_H_

#include <cstdint>
#include <map>
#include <vector>

#include "tests/nccl/cuda/fake_cuda.h"

// What CUDA guarantees about the order of work, whatever the clock says: two streams that nothing
// orders may well take turns as the program hopes, and on another day they do not.
namespace fake_cuda {

// What is certainly done before something: for each stream, how far its work is.
class Past {
 public:
  void Add(uint64_t stream, uint64_t work);
  void Add(const Past& other);
  bool Has(uint64_t stream, uint64_t work) const;

 private:
  std::map<uint64_t, uint64_t> reached_;  // by stream
};

// The host has waited for work, or asked and heard that it is done: all that the program submits
// from now on comes after it.
void HostHasSeen(const Past& past);
Past SeenByHost();

// Ends the process if `accesses`, of the work with this number on this stream, are not ordered
// behind what other streams do with the same memory. To be called in the order of submission.
void CheckOrder(const std::vector<Access>& accesses, uint64_t stream, uint64_t work,
                const Past& past);

}  // namespace fake_cuda

#endif  // MUSTER_TESTS_NCCL_CUDA_RUNTIME_ORDER_H_
