#include "tests/nccl/cuda/runtime/environment.h"

#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

namespace fake_cuda {

std::string Variable(const char* name, const std::string& otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

void Trace(const char* format, ...) {
  static const bool wanted = Variable("FAKE_CUDA_TRACE", "0") == "1";
  if (!wanted) return;
  char line[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  std::fprintf(stderr, "fake CUDA [%d]: %s\n", static_cast<int>(getpid()), line);
}

}  // namespace fake_cuda
