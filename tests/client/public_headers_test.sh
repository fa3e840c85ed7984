#!/bin/sh
# Tests that public headers include only the standard library, Abseil and each other. Then a program
# that uses the SDK needs no gRPC, and may have protobuf messages of its own. Three headers are
# exceptions: muster/protobuf.h is for programs with protobuf, muster/nccl.h for programs with CUDA,
# and muster/c.h, which includes no C++, for C. All other headers, compiled as an older standard
# than C++17, begin with an error that says what to do.
set -u
failed=0
checked=0
for header in client/include/muster/*.h client/include/muster/toolkits/*.h; do
  allowed='<[a-z_]+>|"absl/[^"]+"|"muster/[^"]+"'
  case "$header" in
    */protobuf.h) allowed="$allowed|\"google/protobuf/[^\"]+\"" ;;
    */c.h) allowed='<std(def|int)\.h>' ;;
    */nccl.h) allowed="$allowed|<cuda_[a-z0-9_]+\.h>|<nccl\.h>" ;;
  esac
  foreign=$(grep -E '^[[:space:]]*#[[:space:]]*include' "$header" | grep -vE "include ($allowed)\$")
  if [ -n "$foreign" ]; then
    echo "$header includes what its users may not have:"
    echo "$foreign"
    failed=1
  fi
  # muster/c.h is C, and compiles with any standard.
  first_error=$(c++ -std=c++14 -Wfatal-errors -x c++ -E -Iclient/include "$header" 2>&1 > /dev/null | grep -m 1 error)
  case "$header, $first_error" in
    */c.h,* | *"headers need C++17 or newer: compile with -std=c++17. With Bazel, use muster_cc_binary,"*) ;;
    *)
      echo "$header, compiled as C++14, begins with '$first_error', and not with what to do"
      failed=1
      ;;
  esac
  checked=$((checked + 1))
done
# expect_all_of MAIN FOLDER: checks that MAIN includes all headers of FOLDER, and that its index
# names each.
expect_all_of() {
  for header in "$2"/*.h; do
    name=$(basename "$header")
    case "$name" in cxx17.h | muster.h | toolkits.h | nccl.h | protobuf.h | c.h) continue ;; esac
    if ! grep -q "^#include \"${header#client/include/}\"" "$1"; then
      echo "$1 does not include $name"
      failed=1
    fi
    if [ "$name" != version.h ] && ! grep -qE "^//.* $name(,|\$)" "$1"; then
      echo "the index of $1 does not name $name"
      failed=1
    fi
  done
}
expect_all_of client/include/muster/muster.h client/include/muster
expect_all_of client/include/muster/toolkits.h client/include/muster/toolkits
if [ "$checked" -lt 10 ]; then
  echo "only $checked public headers found in $(pwd)/client/include/muster"
  failed=1
fi
exit "$failed"
