#!/bin/bash
# Runs the Python program of docs/ffi.md with the library as built. It joins, takes part in a
# collective and leaves. An error ends it with its exit code.
set -euo pipefail

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

ln -s "$PWD/client/shared/libmuster.so" "$TEST_TMPDIR/libmuster.so.0"
export LD_LIBRARY_PATH=$TEST_TMPDIR
unset MUSTER_COORDINATOR

said=$(MUSTER_MUSTERD=$PWD/server/musterd client/cli/muster run --nproc-per-node 3 /usr/bin/python3 tests/install/program/sum.py 2>&1) ||
  fail "status $?: $said"
[[ $(grep -cE '^\[[0-2]\] rank [0-2] of 3: 6 apples$' <<< "$said") == 3 ]] || fail "it says: $said"

said=$(/usr/bin/python3 tests/install/program/sum.py) || fail "alone: status $?"
[[ $said == "rank 0 of 1: 1 apples" ]] || fail "alone it says: $said"

status=0
said=$(MUSTER_COORDINATOR=nowhere /usr/bin/python3 tests/install/program/sum.py 2>&1) || status=$?
[[ $status == 64 && $said == *"'nowhere' is not a valid address"* ]] || fail "a wrong address: status $status, $said"
