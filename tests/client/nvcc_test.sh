#!/bin/bash
# Tests that nvcc compiles the documented calls without a warning of its own about discarded
# results.
set -euo pipefail

cat > "$TEST_TMPDIR/program.cu" << 'PROGRAM'
#include "muster/muster.h"
absl::Status Step(muster::Job& job, muster::Communicator& communicator, std::vector<float>& gradients) {
  absl::Status status = job.Barrier("step");
  if (status.ok()) status = communicator.AllReduce(gradients);
  absl::StatusOr<int> sum = 0;
  sum = job.AllReduce(1);
  return status.ok() ? sum.status() : status;
}
PROGRAM

echo "== nvcc is told to leave #2810-D out, and other compilers are told nothing"
suppressed() {
  c++ -std=c++17 -E -Iclient/include "$@" -x c++ "$TEST_TMPDIR/program.cu" > "$TEST_TMPDIR/output"
  grep -c '^#pragma nv_diag_suppress 2810$' "$TEST_TMPDIR/output" || true
}
[[ $(suppressed -D__CUDACC__ -D__NVCC_DIAG_PRAGMA_SUPPORT__) == 1 ]]
[[ $(suppressed) == 0 ]]

nvcc=$(PATH="${CUDA_PATH:-/usr/local/cuda}/bin:$PATH" command -v nvcc || true)
if [[ -z $nvcc ]]; then
  echo "== this machine has no nvcc"
  exit 0
fi
echo "== $nvcc"
"$nvcc" -std=c++17 -Iclient/include -c "$TEST_TMPDIR/program.cu" -o "$TEST_TMPDIR/program.o" > "$TEST_TMPDIR/output" 2>&1 || {
  cat "$TEST_TMPDIR/output"
  exit 1
}
if grep -E '#[0-9]+-D' "$TEST_TMPDIR/output"; then
  exit 1
fi
