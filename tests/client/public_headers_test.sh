#!/bin/sh
# Public headers include only the standard library, Abseil and each other: a program that uses the
# SDK needs no gRPC, and may have protobuf messages of its own. muster/protobuf.h is for those, and
# muster/nccl.h for programs that have CUDA.
set -u
failed=0
checked=0
for header in client/include/muster/*.h; do
  allowed='<[a-z_]+>|"absl/[^"]+"|"muster/[^"]+"'
  case "$header" in
    */protobuf.h) allowed="$allowed|\"google/protobuf/[^\"]+\"" ;;
    */nccl.h) allowed="$allowed|<cuda_[a-z0-9_]+\.h>|<nccl\.h>" ;;
  esac
  foreign=$(grep -E '^[[:space:]]*#[[:space:]]*include' "$header" | grep -vE "include ($allowed)\$")
  if [ -n "$foreign" ]; then
    echo "$header includes what its users may not have:"
    echo "$foreign"
    failed=1
  fi
  checked=$((checked + 1))
done
# The main header is all of them, but for those two, and its index names each.
for header in client/include/muster/*.h; do
  name=$(basename "$header")
  case "$name" in muster.h | nccl.h | protobuf.h) continue ;; esac
  if ! grep -q "^#include \"muster/$name\"" client/include/muster/muster.h; then
    echo "client/include/muster/muster.h does not include $name"
    failed=1
  fi
  if [ "$name" != version.h ] && ! grep -qE "^//.* $name(,|\$)" client/include/muster/muster.h; then
    echo "the index of client/include/muster/muster.h does not name $name"
    failed=1
  fi
done
if [ "$checked" -lt 10 ]; then
  echo "only $checked public headers found in $(pwd)/client/include/muster"
  failed=1
fi
exit "$failed"
