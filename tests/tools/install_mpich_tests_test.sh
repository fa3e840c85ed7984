#!/bin/bash
# Tests that tools/install-mpich-tests brings the test programs of the installed MPICH from apt's sources. Without
# sources it says what to do. apt and the release are made up.
set -euo pipefail

install_mpich_tests=$PWD/$1
root=$(realpath "$TEST_TMPDIR")
home=$root/home

. tests/tools/fake_commands.sh

# make_release FILE...: a release of MPICH with these files.
make_release() {
  local file
  rm -rf "$root/release"
  for file; do
    mkdir -p "$root/release/mpich-4.0.2/$(dirname "$file")"
    echo "$file" > "$root/release/mpich-4.0.2/$file"
  done
  tar -cJf "$root/mpich_4.0.2.orig.tar.xz" -C "$root/release" mpich-4.0.2
}

make_system() {
  make_command dpkg-query <<< 'echo mpich=4.0.2-3'
  make_command apt-get <<EOF
echo "apt-get \$*" >> '$root/calls'
[[ \$1 == indextargets ]] && { echo "Debian $root/debian.sources:1"; exit; }
[[ "\$*" == *" source "* ]] || exit 0
[[ -e '$root/has-sources' ]] || { echo "E: Unable to find a source package for mpich"; exit 100; }
cp '$root/mpich_4.0.2.orig.tar.xz' .
touch mpich_4.0.2.orig.tar.xz.asc
EOF
  echo 'Types: deb' > "$root/debian.sources"
}

run() {
  : > "$root/calls"
  status=0
  PATH="$root/bin:$PATH" MUSTER_MPICH_TESTS_HOME="$home" "$install_mpich_tests" "$@" > "$root/output" 2>&1 || status=$?
}

expect_status() { [[ $status == "$1" ]] || fail "status $status, expected $1"; }
expect_output() { grep -q -- "$1" "$root/output" || fail "the output lacks '$1'"; }

make_system
make_release test/mpi/util/mtest.c test/mpi/coll/bcast.c test/mpi/coll/testlist test/mpi/include/mpitest.h \
  test/mpi/configure src/mpi/init.c modules/ucx/test/mpi/util/hello.c

echo "== without sources it says so, and what to do, and leaves nothing"
run
expect_status 3
expect_output 'apt has no sources of mpich=4.0.2-3'
expect_output 'Unable to find a source package'
expect_output 'are left out'
[[ ! -e $home ]] || fail "there is something in its folder"

echo "== the programs of the installed version are brought, without the rest of the release and Debian's patches"
touch "$root/has-sources"
run
expect_status 0
[[ $(cd "$home" && find . -type f | sort | xargs) == \
  "./coll/bcast.c ./coll/testlist ./include/mpitest.h ./util/mtest.c ./versions" ]] || fail "there are $(find "$home")"
grep -q 'source --download-only --tar-only mpich=4.0.2-3' "$root/calls" || fail "apt was asked for others: $(cat "$root/calls")"
! grep -q diff-only "$root/calls" || fail "the patches were fetched"

echo "== once is enough, until the version changes"
run
expect_status 0
[[ ! -s $root/calls ]] || fail "it was done again"
make_command dpkg-query <<< 'echo mpich=4.3.0+really4.2.1-1'
run
expect_status 0
grep -q 'mpich=4.3.0+really4.2.1-1' "$root/calls" || fail "the new version was not asked for"

echo "== a release without them is refused, and what was there stays"
make_release src/mpi/init.c
make_command dpkg-query <<< 'echo mpich=5.0-1'
run
expect_status 1
expect_output 'mpich=5.0-1 does not have test/mpi as expected'
[[ -e $home/coll/bcast.c ]] || fail "the programs are gone"

echo "== without MPICH it says what to install"
make_command dpkg-query <<< 'echo "no packages found" >&2; exit 1'
run
expect_status 1
expect_output 'tools/install-deps'

run --nonsense
expect_status 2
