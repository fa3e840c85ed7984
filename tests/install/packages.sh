#!/bin/bash
# Installs the given packages on a system that has nothing else, runs their programs, and builds
# programs against them. tools/test-fresh --packages calls it, as root.
set -euo pipefail

. "$(dirname "$0")/expect.sh"

install() { DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet --no-install-recommends -o Dpkg::Use-Pty=0 "$@"; }

apt-get update --quiet
runtime=() development=()
for package in "$@"; do
  if [[ $package == *-dev_* ]]; then development+=("$package"); else runtime+=("$package"); fi
done

echo "== musterd, muster and the library, without a compiler"
install "${runtime[@]}"
muster --version
musterd --version
# shellcheck disable=SC2016
expect 'rank [01] of 2' muster run --nproc-per-node 2 -- sh -c 'echo "rank $RANK of $WORLD_SIZE"'
ldconfig -p | grep libmuster.so.0 || fail "the loader does not know the library"

echo "== programs in C++ and C"
install "${development[@]}" g++ make pkgconf
cp -r "$(dirname "$0")/program" /tmp/program
cd /tmp/program
make
expect 'of 2: 3 apples' muster run --nproc-per-node 2 -- ./sum
# shellcheck disable=SC2046
cc sum.c -o sum_in_c $(pkg-config --cflags --libs muster-c)
expect 'of 2: 3 apples' muster run --nproc-per-node 2 -- ./sum_in_c

echo "== they go as they came"
dpkg --purge muster libmuster-dev libmuster0
echo "The packages work."
