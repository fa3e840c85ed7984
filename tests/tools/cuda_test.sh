#!/bin/bash
# Tests bazel/cuda.bzl in a workspace of its own: CUDA and NCCL appear, disappear and move between
# the builds of one Bazel server. The toolkit is made up, and so is the system below $root/system.
set -euo pipefail

rules=$PWD/bazel
root=$(realpath "$TEST_TMPDIR")
home=$root/home

. tests/tools/fake_commands.sh

# make_toolkit FOLDER NAME: makes what the rules look for in a toolkit. Its header contains NAME.
make_toolkit() {
  mkdir -p "$1"/{include,lib64}
  echo "#pragma once" > "$1/include/cuda_runtime_api.h"
  echo "#define TOOLKIT \"$2\"" > "$1/include/nccl.h"
  touch "$1"/lib64/{libcudart,libnccl}.so
}

make_workspace() {
  mkdir -p "$root/muster" "$root/workspace" "$root/system/usr"
  cp -rL "$rules" "$root/muster/bazel"
  touch "$root/muster/WORKSPACE"
  cat > "$root/workspace/WORKSPACE" <<END
local_repository(name = "muster", path = "$root/muster")
load("@muster//bazel:cuda.bzl", "cuda_repository")
load("@muster//bazel:offline.bzl", "offline_repositories")
load("@muster//bazel:workspace.bzl", "muster_repositories")
cuda_repository(name = "cuda", system_root = "$root/system")
muster_repositories()
offline_repositories()
END
  cat > "$root/workspace/BUILD.bazel" <<'END'
load("@muster//bazel:nccl.bzl", "nccl_if_found")

cc_binary(
    name = "program",
    srcs = nccl_if_found(["with.cc"], otherwise = ["without.cc"]),
    deps = nccl_if_found(["@cuda//:cudart_headers", "@cuda//:nccl_headers"]),
)

cc_library(
    name = "needs_nccl",
    srcs = ["with.cc"],
    deps = ["@cuda//:nccl_headers"],
)
END
  echo 'int main() { __builtin_puts("none"); }' > "$root/workspace/without.cc"
  printf '%s\n' '#include <cuda_runtime_api.h>' '#include <nccl.h>' 'int main() { __builtin_puts(TOOLKIT); }' \
    > "$root/workspace/with.cc"
}

bazel() {
  (cd "$root/workspace" && env -u CUDA_PATH -u NCCL_PATH -u NCCL_HOME -u MUSTER_CUDA_HOME -u XDG_DATA_HOME \
    -u MUSTER_WITHOUT_CUDA -u TEST_TMPDIR HOME="$home" ${variable:+"$variable"} \
    bazel --nohome_rc --output_user_root="$root/bazel" --host_jvm_args=-Xmx300m --max_idle_secs=60 "$@")
}

# build TARGET: leaves the status in $status, and Bazel's output in the file `output`.
build() {
  status=0
  bazel build --spawn_strategy=local --jobs=1 --color=no --curses=no --compilation_mode=fastbuild "$1" \
    > "$root/output" 2>&1 || status=$?
}

# expect_found NAME: expects that the program is built against the toolkit of that name, or against
# "none".
expect_found() {
  build //...
  [[ $status == 0 ]] || fail "the build ended with status $status"
  local said
  said=$("$root/workspace/bazel-bin/program")
  [[ $said == "$1" ]] || fail "built with toolkit '$said', expected '$1'"
}

expect_output() { grep -q -- "$1" "$root/output" || fail "the output lacks '$1'"; }

make_workspace
trap 'bazel shutdown' EXIT
variable=

echo "== without CUDA, what needs it is passed by, and Bazel says what to do"
expect_found none
expect_output "NCCL targets are skipped: the CUDA runtime .* is not in $root/system/usr/local/cuda"
expect_output "tools/install-deps --cuda"
server=$(bazel info server_pid 2> /dev/null)

echo "== who asks for it by name is told the same"
build //:needs_nccl
[[ $status != 0 ]] || fail "it was built"
expect_output "NCCL targets are skipped: .*tools/install-deps --cuda"
expect_output "nccl_and_cuda_runtime"

echo "== installed between two builds, it is found by the second"
make_toolkit "$home/.local/share/muster/cuda" wheels
expect_found wheels
build //:needs_nccl
[[ $status == 0 ]] || fail "it was not built"

echo "== the system's comes first"
make_toolkit "$root/system/usr/local/cuda" system
expect_found system

echo "== a toolkit without a library is none"
rm "$root/system/usr/local/cuda/lib64/libnccl.so" "$home/.local/share/muster/cuda/lib64/libnccl.so"
expect_found none
expect_output "NCCL (nccl.h, libnccl.so) is not in $root/system/usr/local/cuda, $home/.local/share/muster/cuda, "

echo "== CUDA_PATH comes before all"
make_toolkit "$root/mine" mine
variable=CUDA_PATH=$root/mine
expect_found mine

echo "== and MUSTER_WITHOUT_CUDA=1 leaves out what is there"
variable=
make_toolkit "$root/system/usr/local/cuda" system
expect_found system
variable=MUSTER_WITHOUT_CUDA=1
expect_found none
expect_output "MUSTER_WITHOUT_CUDA=1 is set"

variable=
[[ $(bazel info server_pid 2> /dev/null) == "$server" ]] || fail "it was not one Bazel server that did all this"
