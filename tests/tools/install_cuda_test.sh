#!/bin/bash
# Runs tools/install-cuda on made-up systems, with stand-ins for apt-get and pip.
set -euo pipefail

install_cuda=$PWD/$1
root=$TEST_TMPDIR
home=$root/data/muster/cuda

. tests/tools/fake_commands.sh

# make_headers FOLDER
make_headers() {
  mkdir -p "$1"
  echo "#define CUDART_VERSION  13020" > "$1/cuda_runtime_api.h"
  printf '#define NCCL_MAJOR 2\n#define NCCL_MINOR 28\n#define NCCL_PATCH 9\n' > "$1/nccl.h"
}

# make_toolkit FOLDER LIBRARIES
make_toolkit() {
  make_headers "$1/include"
  mkdir -p "$1/$2"
  touch "$1/$2"/lib{cudart,nccl}.so
}

# make_system DEBIAN-RELEASE: makes a system without a toolkit. Its apt-get knows none, and pip
# brings one.
make_system() {
  rm -rf "${root:?}/bin" "$root/system" "$root/data"
  mkdir -p "$root/bin" "$root/system"
  : > "$root/calls"
  printf 'ID=debian\nVERSION_ID="%s"\n' "$1" > "$root/os-release"
  printf 'echo "apt-get $*" >> %q\nexit 100\n' "$root/calls" | make_command apt-get
  make_command python3 <<EOF
echo "python3 \$*" >> '$root/calls'
[[ \$* == *--target* ]] || exit 0
site=\${@: -1}
$(declare -f make_headers)
make_headers "\$site/nvidia/cu13/include"
mkdir -p "\$site"/nvidia/{cu13/lib,nccl/lib,nccl/include} "\$site/nvidia_nccl.dist-info"
mv "\$site/nvidia/cu13/include/nccl.h" "\$site/nvidia/nccl/include"
touch "\$site/nvidia/cu13/lib/libcudart.so.13" "\$site/nvidia/nccl/lib/libnccl.so.2"
EOF
}

# run ARGUMENT...: leaves the status in $status, and the output in the file `output`.
run() {
  status=0
  env -u CUDA_PATH -u MUSTER_CUDA_HOME PATH="$root/bin:$PATH" OS_RELEASE="$root/os-release" \
    SYSTEM_ROOT="$root/system" PYTHON="$root/bin/python3" XDG_DATA_HOME="$root/data" \
    ${cuda_path:+CUDA_PATH="$cuda_path"} "$install_cuda" "$@" > "$root/output" 2>&1 || status=$?
}

expect_status() { [[ $status == "$1" ]] || fail "status $status, expected $1"; }
expect_output() { grep -q -- "$1" "$root/output" || fail "the output lacks '$1'"; }
expect_call() { grep -q -- "$1" "$root/calls" || fail "'$1' was not called: $(cat "$root/calls")"; }
expect_no_call() { ! grep -q -- "$1" "$root/calls" || fail "'$1' was called: $(cat "$root/calls")"; }

cuda_path=

echo "== a toolkit with both is found and named, and nothing is brought"
make_system 12
make_toolkit "$root/system/usr/local/cuda" targets/"$(uname -m)"-linux/lib
run
expect_status 0
expect_output "found CUDA 13.2 and NCCL 2.28.9 in $root/system/usr/local/cuda"
expect_no_call .

echo "== CUDA_PATH comes first"
cuda_path=$root/mine
make_toolkit "$cuda_path" lib64
run --find
expect_status 0
expect_output "^$cuda_path\$"

echo "== a toolkit without NCCL's library is none"
rm "$root/system/usr/local/cuda"/targets/*/lib/libnccl.so
cuda_path=
run --find
expect_status 1
[[ ! -s $root/output ]] || fail "--find is not silent"
expect_no_call .

echo "== without a toolkit the wheels are laid out as one; the second run finds it"
run
expect_status 0
expect_call "--require-hashes"
expect_output "installed CUDA 13.2 and NCCL 2.28.9 in $home"
[[ -e $home/lib64/libnccl.so && -e $home/lib64/libcudart.so && -e $home/include/nccl.h ]] ||
  fail "not a toolkit: $(find "$home")"
: > "$root/calls"
run
expect_status 0
expect_output "found .* in $home"
expect_no_call .

echo "== other pins than those brought are brought anew"
echo "# of an older release" >> "$home/cuda-requirements.txt"
touch "$home/old"
run
expect_status 0
expect_call "--require-hashes"
[[ ! -e $home/old ]] || fail "the old one is still there"

echo "== a failure leaves nothing behind and says what to do"
make_system 12
printf '[[ $* == *--version* ]] || { mkdir -p "${@: -1}"; exit 1; }\n' | make_command python3
run
expect_status 1
expect_output "pip could not bring the wheels"
expect_output "MUSTER_WITHOUT_CUDA=1"
[[ -z $(find "$root/data" -name 'cuda*') ]] || fail "left behind: $(find "$root/data")"

echo "== wheels that hold something else are not installed"
make_system 12
make_command python3 <<'EOF'
[[ $* == *--target* ]] || exit 0
mkdir -p "${@: -1}"/nvidia/{cu13,nccl}/{include,lib} "${@: -1}/a.dist-info"
touch "${@: -1}"/nvidia/{cu13/lib/liba,nccl/lib/libb}.so.1
EOF
run
expect_status 1
expect_output "do not hold what was expected"
[[ ! -e $home ]] || fail "it was installed"

echo "== wheels whose headers include others that are not there are not installed"
make_system 12
sed -i "s|^touch|echo '#include <of/no/wheel>' >> \"\$site/nvidia/nccl/include/nccl.h\"; touch|" "$root/bin/python3"
run
expect_status 1
expect_output "of/no/wheel"
expect_output "do not hold what was expected"
[[ ! -e $home ]] || fail "it was installed"

echo "== a full disk is said before anything is downloaded"
make_system 12
printf 'echo Avail; echo 1024\n' | make_command df
run
expect_status 1
expect_output "has 1 MiB free, and .* MiB are needed"
expect_no_call "--target"

echo "== Debian 13's packages, where it has them"
make_system 13
make_command apt-get <<EOF
echo "apt-get \$*" >> '$root/calls'
[[ \$* != *--yes* ]] || {
  $(declare -f make_headers make_toolkit)
  make_toolkit '$root/system/usr' lib/$(uname -m)-linux-gnu
}
EOF
printf 'echo 0\n' | make_command id
run
expect_status 0
expect_call "apt-get install --yes .*libnccl-dev"
expect_no_call python3
expect_output "installed .* in $root/system/usr"

echo "== Debian 13 without its non-free packages: the wheels"
make_system 13
run
expect_status 0
expect_call "python3 .*--require-hashes"

echo "== arguments"
run --help
expect_status 0
expect_output "^Usage: tools/install-cuda"
run --nonsense
expect_status 2
expect_output "'--nonsense'"
