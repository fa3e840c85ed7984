#!/bin/sh
# Tests that public headers include only the standard library, Abseil and each other. Then a program
# that uses the SDK needs no gRPC, and may have protobuf messages of its own. Four headers are
# exceptions: muster/protobuf.h is for programs with protobuf, muster/nccl.h for programs with CUDA,
# muster/c.h, which includes no C++, for C, and muster/portable.h, which includes no Abseil, for C++
# with another one. The latter uses each function and constant of muster/c.h. All headers but
# muster/c.h, compiled as an older standard than C++17, begin with an error that says what to do.
set -u
failed=0
checked=0
for header in client/include/muster/*.h client/include/muster/toolkits/*.h; do
  allowed='<[a-z_]+>|"absl/[^"]+"|"muster/[^"]+"'
  case "$header" in
    */protobuf.h) allowed="$allowed|\"google/protobuf/[^\"]+\"" ;;
    */c.h) allowed='<std(def|int)\.h>' ;;
    */portable.h) allowed='<[a-z_]+>|"muster/(c|cxx17)\.h"' ;;
    */nccl.h) allowed="$allowed|<cuda_[a-z0-9_]+\.h>|<nccl\.h>" ;;
  esac
  foreign=$(grep -E '^[[:space:]]*#[[:space:]]*include' "$header" | grep -vE "include ($allowed)\$")
  if [ -n "$foreign" ]; then
    echo "$header includes what its users may not have:"
    echo "$foreign"
    failed=1
  fi
  # muster/c.h is C, and compiles with any standard.
  first_error=$(c++ -std=c++14 -Wfatal-errors -x c++ -E -Iclient/include "$header" 2>&1 > /dev/null | grep -m 1 error:)
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
    case "$name" in cxx17.h | muster.h | toolkits.h | nccl.h | protobuf.h | c.h | portable.h) continue ;; esac
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
# without_comments FILE: prints it on one line, without its comments.
without_comments() {
  gcc -fpreprocessed -dD -P -E -x c++ "$1" 2> /dev/null | tr '\n' ' '
}
c_header=$(without_comments client/include/muster/c.h)
functions=$(echo "$c_header" | grep -oE 'MUSTER_C_API [^;]*;' | grep -oE '\bmuster_[a-z_]+\(' | tr -d '(' | sort -u)
constants=$(echo "$c_header" | grep -oE '\bMUSTER_[A-Z0-9_]+ = ' | sed 's/ = //')
if [ "$(echo "$functions" | wc -l)" -lt 90 ] || [ "$(echo "$constants" | wc -l)" -lt 40 ]; then
  echo "only $(echo "$functions" | wc -l) functions and $(echo "$constants" | wc -l) constants found in muster/c.h"
  failed=1
fi
used=$(without_comments client/include/muster/portable.h | grep -oEi '\bmuster_[a-z0-9_]+\b')
for name in $functions $constants; do
  if ! echo "$used" | grep -qxF "$name"; then
    echo "muster/portable.h does not use $name of muster/c.h"
    failed=1
  fi
done
if [ "$checked" -lt 10 ]; then
  echo "only $checked public headers found in $(pwd)/client/include/muster"
  failed=1
fi
exit "$failed"
