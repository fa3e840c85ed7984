#!/bin/bash
# Tests the arguments of tools/gpu-test, and how the `run` of a bundle finds a machine's libraries.
# This bundle holds stand-ins.
set -euo pipefail

gpu_test=$PWD/$1
run_script=$PWD/$2
root=$TEST_TMPDIR
bundle=$root/muster-gpu-test

. tests/tools/fake_commands.sh

# Makes a bundle whose programs start only if the folder with both good libraries comes first.
make_bundle() {
  rm -rf "$bundle" "$root/python"
  mkdir -p "$bundle" "$root/bin"
  cp "$run_script" "$bundle/run"
  printf 'libcudart.so.77\nlibnccl.so.66\n2.99.1\n' > "$bundle/needs"
  make_command "$bundle/tests/gpu/rank" <<'EOF'
for library in libcudart.so.77 libnccl.so.66; do
  found=
  for folder in ${LD_LIBRARY_PATH//:/ }; do
    [[ -n $found || ! -e $folder/$library ]] || found=$(cat "$folder/$library")
  done
  [[ $found == good ]] || exit 127
done
EOF
  echo 'echo "gpu_test $* in $PWD with $LD_LIBRARY_PATH"' | make_command "$bundle/tests/gpu/gpu_test"
  printf 'echo %q\n' "$root/python" | make_command "$root/bin/python3"
}

# put_library FOLDER/NAME good|old
put_library() {
  mkdir -p "$(dirname "$1")"
  echo "$2" > "$1"
}

# run COMMAND...: leaves its status in $status, and its output in the file `output`.
run() {
  status=0
  env -u LD_LIBRARY_PATH PATH="$root/bin:$PATH" CUDA_PATH="$root/toolkit" "$@" \
    > "$root/output" 2>&1 || status=$?
}

expect_status() { [[ $status == "$1" ]] || fail "status $status, expected $1"; }
expect_output() { grep -q -- "$1" "$root/output" || fail "the output lacks '$1'"; }

echo "== libraries in Python's packages are found, and said"
make_bundle
put_library "$root/python/nvidia/cu13/lib/libcudart.so.77" good
put_library "$root/python/nvidia/nccl/lib/libnccl.so.66" good
run "$bundle/run" --gtest_filter=A.b
expect_status 0
expect_output "^$root/python/nvidia/cu13/lib/libcudart.so.77, $root/python/nvidia/nccl/lib/libnccl.so.66\$"
expect_output "gpu_test --gtest_filter=A.b in $bundle"

echo "== the toolkit's come first"
put_library "$root/toolkit/lib64/libcudart.so.77" good
run "$bundle/run"
expect_status 0
expect_output "^$root/toolkit/lib64/libcudart.so.77, "

echo "== but not where the programs do not start with them"
put_library "$root/toolkit/lib64/libcudart.so.77" old
run "$bundle/run"
expect_status 0
expect_output "^$root/python/nvidia/cu13/lib/libcudart.so.77, "

echo "== where nothing fits, the versions that are needed and what was found are named"
put_library "$root/python/nvidia/nccl/lib/libnccl.so.66" old
run "$bundle/run"
expect_status 1
expect_output "needs libcudart.so.77 and NCCL (libnccl.so.66) 2.99.1 or newer"
expect_output "  $root/python/nvidia/nccl/lib/libnccl.so.66"

echo "== a bundle's list and help need no libraries"
run "$bundle/run" --list
expect_status 0
expect_output "^gpu_test --list"
run "$bundle/run" --help
expect_status 0
expect_output "^Usage: ./run"
expect_output "libcudart.so.77"

echo "== a machine without a GPU is told what to do"
if compgen -G '/dev/nvidia[0-9]*' > /dev/null; then
  echo "(this machine has one)"
else
  echo 'exit 9' | make_command "$root/bin/nvidia-smi"
  run "$gpu_test"
  expect_status 1
  expect_output "no NVIDIA GPU"
  expect_output "--bundle FILE"
fi

echo "== arguments"
run "$gpu_test" --help
expect_status 0
expect_output "^Usage: tools/gpu-test"
run "$gpu_test" --nonsense
expect_status 2
expect_output "'--nonsense'"
run "$gpu_test" --bundle
expect_status 1
expect_output "--bundle needs a file"
