#ifndef MUSTER_TESTS_NCCL_CUDA_RUNTIME_ENVIRONMENT_H_
#define MUSTER_TESTS_NCCL_CUDA_RUNTIME_ENVIRONMENT_H_

#include <string>

// The stand-in GPU's configuration by environment variables. README.md lists them.
namespace fake_cuda {

std::string Variable(const char* name, const std::string& otherwise);

// Writes a line to stderr if FAKE_CUDA_TRACE=1.
void Trace(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace fake_cuda

#endif  // MUSTER_TESTS_NCCL_CUDA_RUNTIME_ENVIRONMENT_H_
