#!/bin/bash
# Builds programs from outside the tree with CMake, make, nvcc and Bazel against a folder that
# tools/install has filled. Runs each on two ranks. docs/link.md shows their sources.
# shellcheck disable=SC2046  # what pkg-config says is words
set -euo pipefail

work=$(realpath "$TEST_TMPDIR")
sources=$PWD/tests/install
prefix=$work/prefix

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

say() { echo "== [${SECONDS}s] $*"; }

# A Muster that this machine has installed must not help.
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig PATH=$prefix/bin:$PATH HOME=$work
unset LD_LIBRARY_PATH CPATH MUSTER_COORDINATOR

# expect_sum COMMAND...: runs two ranks, and expects the same sum from both.
expect_sum() {
  local said
  said=$(timeout 120 muster run --nproc-per-node 2 -- "$@" 2>&1) || fail "$* has failed: $said"
  [[ $(grep -cE '^\[[01]\] rank [01] of 2: 3 apples$' <<< "$said") == 2 ]] || fail "$* says: $said"
}

# copy NAME: copies the program's sources into a new folder.
copy() {
  mkdir "$work/$1"
  cp -L "$sources"/program/* "$work/$1"
  cd "$work/$1"
}

say "tools/install puts what was built into a folder, as anybody"
options=(--without-nccl)
[[ ! -e client/shared/libmuster_nccl.so ]] || options=()
tools/install --prefix "$prefix" --built "$PWD" "${options[@]}" > "$work/said" || fail "$(cat "$work/said")"
grep -q "^install: Muster .* is in $prefix: " "$work/said" || fail "it does not say where it is: $(cat "$work/said")"
for file in bin/musterd bin/muster lib/libmuster.so.0 lib/libmuster.a lib/libnccl-profiler-muster.so lib/libmuster_pmix.so include/muster/muster.h share/man/man1/muster-run.1.gz share/man/man1/muster-completion.1.gz \
  share/man/man8/musterd.8.gz share/bash-completion/completions/muster share/zsh/site-functions/_musterd \
  lib/systemd/system/musterd@.service; do
  [[ -s $prefix/$file ]] || fail "there is no $file"
done
grep -q "^ExecStart=$prefix/bin/musterd" "$prefix/lib/systemd/system/musterd@.service" || fail "the unit starts another musterd"

say "CMake"
copy cmake
cmake -S . -B build -DCMAKE_PREFIX_PATH="$prefix" > cmake.log 2>&1 || fail "$(cat cmake.log)"
cmake --build build > build.log 2>&1 || fail "$(cat build.log)"
expect_sum build/sum

say "the program's own code touches no lock of Abseil's: those of the library are another copy"
object=$(find build -name 'sum.cc.o')
! nm -C --undefined-only "$object" | grep -E 'absl::.*(Mutex|CondVar|Notification)' || fail "it does"

say "make, with g++"
copy make
make > make.log 2>&1 || fail "$(cat make.log)"
expect_sum ./sum
MUSTER_GLOO_SHARED_MEMORY=0 expect_sum ./sum   # through Gloo's connections

say "the flags are such that nvcc takes them, too"
! pkg-config --cflags --libs muster | grep -E '(^| )(-Wl|-pthread|-m)' || fail "they are not"
nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2> /dev/null || true)
if [[ -n $nvcc ]]; then
  say "make, with $nvcc"
  rm sum
  make CXX="$nvcc" > make.log 2>&1 || fail "$(cat make.log)"
  expect_sum ./sum
fi

if [[ -e $prefix/lib/libmuster_nccl.so ]]; then
  say "libmuster_nccl.so finds what it shares with libmuster.so; without a GPU, Gloo is chosen"
  g++ -std=c++17 -O0 sum.cc -o with_nccl -Wl,-rpath,"$prefix/lib" $(pkg-config --cflags --libs muster-nccl) > nccl.log 2>&1 ||
    fail "$(cat nccl.log)"
  readelf -d with_nccl | grep -q 'NEEDED.*libmuster_nccl.so.0' || fail "it was linked without"
  CUDA_VISIBLE_DEVICES='' expect_sum ./with_nccl
fi

say "a C program, which needs no Abseil and no C++"
cc -std=c99 -Wall -Wextra -Werror sum.c -o sum_in_c $(pkg-config --cflags --libs muster-c) -Wl,-rpath,"$prefix/lib" > c.log 2>&1 ||
  fail "$(cat c.log)"
! readelf -d sum_in_c | grep -E 'NEEDED.*(stdc\+\+|absl)' || fail "it needs those"
expect_sum ./sum_in_c

say "a C++ program without Abseil, by pkg-config and by CMake, which does not look for it either"
g++ -std=c++17 -Wall -Wextra -Werror -O0 sum_portable.cc -o sum_portable $(pkg-config --cflags --libs muster-c) \
  -Wl,-rpath,"$prefix/lib" > portable.log 2>&1 || fail "$(cat portable.log)"
! readelf -d sum_portable | grep -E 'NEEDED.*absl' || fail "it needs Abseil"
expect_sum ./sum_portable
mkdir portable
printf '%s\n' 'cmake_minimum_required(VERSION 3.16)' 'project(sum CXX)' 'find_package(muster REQUIRED COMPONENTS portable)' \
  'add_executable(sum ../sum_portable.cc)' 'target_link_libraries(sum muster::portable)' > portable/CMakeLists.txt
{ cmake -S portable -B portable/build -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_DISABLE_FIND_PACKAGE_absl=ON && cmake --build portable/build; } > cmake.log 2>&1 ||
  fail "$(cat cmake.log)"
! readelf -d portable/build/sum | grep -E 'NEEDED.*absl' || fail "it needs Abseil"
expect_sum portable/build/sum

say "a Python program, by ctypes"
LD_LIBRARY_PATH=$prefix/lib expect_sum /usr/bin/python3 sum.py

say "libmuster.a: the data plane registers itself without --whole-archive"
g++ -std=c++17 -O0 sum.cc -o static $(pkg-config --cflags --libs muster-static) > static.log 2>&1 || fail "$(cat static.log)"
! readelf -d static | grep -q libmuster || fail "it needs libmuster.so"
expect_sum ./static

say "another release of Abseil is refused with both releases and what to do"
mkdir -p other/absl/base
printf '%s\n' '#define ABSL_LTS_RELEASE_VERSION 20300401' '#define ABSL_OPTION_INLINE_NAMESPACE_NAME lts_20300401' > other/absl/base/config.h
said=$(g++ -std=c++17 -I other -fsyntax-only sum.cc $(pkg-config --cflags muster) 2>&1 || true)
for text in 'release 20300401 in lts_20300401' 'was built with Abseil release [0-9]* in ' 'tools/install' 'muster/c.h'; do
  grep -q "$text" <<< "$said" || fail "it says nothing of '$text': $(head -n 5 <<< "$said")"
done

say "a program with gRPC, protobuf and Muster's messages of its own does not notice those inside"
mkdir "$work/programs"
cd "$work/programs"
cp -L "$sources"/programs/* .
protoc -I"$sources/../../proto" --cpp_out=. muster/v1/coordinator.proto
g++ -std=c++17 -O0 -I. own_proto.cc muster/v1/coordinator.pb.cc -o own_proto \
  -Wl,-rpath,"$prefix/lib" $(pkg-config --cflags --libs muster grpc++ protobuf) > log 2>&1 || fail "$(cat log)"
readelf -d own_proto | grep -q 'NEEDED.*libprotobuf' || fail "it has no protobuf of its own"
said=$(timeout 120 muster run --nproc-per-node 2 -- ./own_proto 2>&1) || fail "it has failed: $said"
[[ $(grep -c 'muster.v1.GetStatusRequest and gRPC .* of its own$' <<< "$said") == 2 ]] || fail "it says: $said"

say "a peer that dies is an error, in shared memory and through Gloo, whose exceptions stay inside"
g++ -std=c++17 -O0 lost_peer.cc -o lost_peer -Wl,-rpath,"$prefix/lib" $(pkg-config --cflags --libs muster) > log 2>&1 || fail "$(cat log)"
for shared in 1 0; do
  # The grace is long, so that the launcher reports how the rank has ended.
  said=$(MUSTER_MEMBER_GRACE=1m MUSTER_GLOO_SHARED_MEMORY=$shared timeout 120 muster run --nproc-per-node 2 -- ./lost_peer 2>&1 || true)
  grep -q '^\[0\] ABORTED: .*rank 1 .*SIGKILL' <<< "$said" || fail "it says: $said"
done

say "Bazel, with the installed library"
mkdir "$work/bazel"
cd "$work/bazel"
cp -L "$sources"/workspace/{WORKSPACE,muster.BUILD} "$sources/program/sum.cc" .
cp -L "$sources/workspace/program.BUILD" BUILD.bazel
sed -i "s|/usr/local|$prefix|" WORKSPACE
[[ ! -e $(gcc -print-file-name=libabsl_string_view.so) ]] || sed -i 's|# "string_view"|"string_view"|' muster.BUILD
# Stands in for rules that Debian's Bazel would download.
mkdir -p stubs/rules_cc/cc
touch stubs/rules_cc/WORKSPACE
cp -L "$sources/../../bazel/stubs/rules_cc.BUILD" stubs/rules_cc/cc/BUILD.bazel
cp -L "$sources/../../bazel/stubs/rules_cc.bzl" stubs/rules_cc/cc/defs.bzl
offline=("--override_repository=rules_cc=$PWD/stubs/rules_cc")
for rules in java proto; do offline+=("--override_repository=rules_$rules=/usr/share/bazel/rules/$rules"); done
bazel() {
  env -u TEST_TMPDIR bazel --nohome_rc --output_user_root="$work/bazel-root" --host_jvm_args=-Xmx300m --max_idle_secs=60 "$@"
}
trap 'cd "$work/bazel" && bazel shutdown' EXIT
bazel build --spawn_strategy=local --jobs=1 --color=no --curses=no "${offline[@]}" //:sum > build.log 2>&1 ||
  fail "$(tail -n 30 build.log)"
expect_sum bazel-bin/sum

say "tools/uninstall removes all of it"
cd "$sources/../.."
tools/uninstall --prefix "$prefix" > "$work/said"
[[ ! -e $prefix || -z $(ls -A "$prefix") ]] || fail "this is left: $(find "$prefix" ! -type d | head)"
say "done"
