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

echo "== programs in Python"
cat > /tmp/sum.py <<EOF
import muster

with muster.join() as job:
    print(f"rank {job.rank} of {job.world_size}: {job.all_reduce(job.rank + 1)} apples")
EOF
expect 'of 2: 3 apples' muster run --nproc-per-node 2 -- python3 /tmp/sum.py
python3 -c 'import importlib.metadata, muster; assert importlib.metadata.version("muster") == muster.__version__'
[[ -n $(find /usr/lib/python3/dist-packages/muster -name '*.pyc') ]] || fail "the modules are not compiled"

echo "== they go as they came"
dpkg --purge python3-muster muster libmuster-dev libmuster0
[[ ! -e /usr/lib/python3/dist-packages/muster ]] || fail "this is left: $(find /usr/lib/python3/dist-packages/muster)"
echo "The packages work."
