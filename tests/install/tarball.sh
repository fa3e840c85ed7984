#!/bin/bash
# Moves the unpacked tarball of tools/dist to another folder, and runs ranks from there. Also runs
# programs in C and C++ that were built on another machine. tools/test-fresh --tarball calls it on a
# system that has nothing else, with the folder and the programs.
set -euo pipefail

. "$(dirname "$0")/expect.sh"

folder=$(mktemp -d)/"some folder"
mv "$1" "$folder"
shift
export PATH=$folder/bin:$PATH

echo "== musterd and muster"
muster --version
musterd --version
# shellcheck disable=SC2016
expect 'rank [01] of 2' muster run --nproc-per-node 2 -- sh -c 'echo "rank $RANK of $WORLD_SIZE"'

echo "== programs in C and C++ that were built elsewhere: barriers, and sums through shared memory and through TCP"
export LD_LIBRARY_PATH=$folder/lib
for program in "$@"; do
  expect 'of 2: 3 apples' muster run --nproc-per-node 2 -- "$program"
  MUSTER_GLOO_SHARED_MEMORY=0 expect 'of 2: 3 apples' muster run --nproc-per-node 2 -- "$program"
done
echo "The tarball works."
