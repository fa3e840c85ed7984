#!/bin/bash
# Tests that tools/install-nccl-source takes NCCL's sources from checked tarballs or from a checked
# clone, and says what is wrong if it cannot. git is made up, and so are the expected sums.
set -euo pipefail

root=$(realpath "$TEST_TMPDIR")
home=$root/data/muster/nccl-source
tarballs=$root/tarballs
install=$root/tools/install-nccl-source
tag_of_2_22_3=178b6b759074597777ce13438efb0e0ba625e429

. tests/tools/fake_commands.sh

# make_tarball VERSION FILE...: makes a tarball like NVIDIA's, with these files.
make_tarball() {
  local name=nccl-v$1-1 file
  for file in "${@:2}"; do
    mkdir -p "$root/$name/$(dirname "$file")"
    echo "$1" > "$root/$name/$file"
  done
  mkdir -p "$tarballs"
  tar -cJf "$tarballs/$name.tar.xz" -C "$root" "$name"
  rm -r "${root:?}/$name"
}

# expect_sum VERSION: makes the script take the tarball that is there for NVIDIA's.
expect_sum() {
  local sum
  sum=$(sha256sum < "$tarballs/nccl-v$1-1.tar.xz" | cut -d ' ' -f 1)
  sed -i "0,/\[$1\]=/s/\[$1\]=.*/[$1]=$sum/" "$install"
}

mkdir -p "$root/tools"
cp tools/apt.sh tools/install-nccl-source "$root/tools/"
chmod u+w "$install"
for version in 2.22.3 2.30.7; do
  make_tarball "$version" src/init.cc src/nccl.h.in
  expect_sum "$version"
done

# Stands in for git. Clones the commit that the variable CLONES names, or nothing.
make_command git <<EOF
echo "git \$*" >> '$root/calls'
if [[ "\$*" == *rev-parse* ]]; then echo "\$CLONES"; exit; fi
[[ -n "\$CLONES" ]] || { echo "fatal: Could not resolve host: github.com" >&2; exit 128; }
folder=\${@: -1}
mkdir -p "\$folder/.git" "\$folder/src"
touch "\$folder/src/init.cc" "\$folder/src/nccl.h.in"
EOF

run() {
  : > "$root/calls"
  status=0
  PATH="$root/bin:$PATH" XDG_DATA_HOME=$root/data "$install" "$@" > "$root/output" 2>&1 || status=$?
}

expect_status() { [[ $status == "$1" ]] || fail "status $status, expected $1"; }
expect_output() { grep -q -- "$1" "$root/output" || fail "the output lacks '$1'"; }
installed() { find "$home" -mindepth 1 -maxdepth 1 -printf '%f\n' | sort | tr '\n' ' '; }
expect_installed() { [[ $(installed) == ".lock $1" ]] || fail "there is $(installed)"; }

unset MUSTER_NCCL_SOURCE_HOME
export CLONES='' MUSTER_NCCL_SOURCES=$tarballs

echo "== the oldest and the newest are unpacked"
run
expect_status 0
expect_output 'unpacking NCCL 2.22.3'
expect_installed '2.22.3 2.30.7 '
[[ $(< "$home/2.30.7/src/init.cc") == 2.30.7 ]] || fail "2.30.7 is not what was packed"

echo "== once is enough"
run --versions oldest-newest
expect_status 0
[[ ! -s $root/output ]] || fail "it was done again"

echo "== a version without a tarball has a status of its own, and the error says what to do"
run --versions all
expect_status 3
expect_output "$tarballs/nccl-v2.27.7-1.tar.xz, in the folder MUSTER_NCCL_SOURCES, does not exist"
expect_output 'Put nccl-v2.27.7-1.tar.xz'
expect_installed '2.22.3 2.30.7 '

echo "== a tarball with another sum"
make_tarball 2.28.9 src/init.cc src/nccl.h.in
run --versions 2.28.9
expect_status 1
expect_output "$tarballs/nccl-v2.28.9-1.tar.xz is not NCCL 2.28.9"
expect_output 'Expected SHA-256 sum 71d102b5b206223d555e37606d3a06be1b1010a101fef65aef7ad41092f8ba39'
expect_output "found  *$(sha256sum < "$tarballs/nccl-v2.28.9-1.tar.xz" | cut -d ' ' -f 1)"
expect_installed '2.22.3 2.30.7 '

echo "== a tarball that lacks files"
make_tarball 2.28.9 src/other.cc
expect_sum 2.28.9
run --versions 2.28.9
expect_status 1
expect_output 'do not hold what was expected'
expect_installed '2.22.3 2.30.7 '

unset MUSTER_NCCL_SOURCES
rm -r "$home"

echo "== without a way to GitHub"
run --versions 2.22.3
expect_status 3
expect_output 'It says: fatal: Could not resolve host: github.com'
expect_output 'set MUSTER_NCCL_SOURCES'
expect_installed ''

echo "== a clone of another commit"
CLONES=0123 run --versions 2.22.3
expect_status 1
expect_output "Expected $tag_of_2_22_3"
expect_output 'found    0123'
expect_installed ''

echo "== a clone of the tag"
CLONES=$tag_of_2_22_3 run --versions 2.22.3
expect_status 0
expect_installed '2.22.3 '
[[ ! -e $home/2.22.3/.git ]] || fail "the clone's repository is left"
grep -q -- '--branch v2.22.3-1 https://github.com/NVIDIA/nccl' "$root/calls" || fail "git was called: $(cat "$root/calls")"

echo "== arguments"
run --help
expect_status 0
expect_output '^Usage:'
for wrong in --nonsense '--versions 2.1.0' --versions; do
  # shellcheck disable=SC2086  # words
  run $wrong
  expect_status 2
  expect_output '^Usage:'
done
