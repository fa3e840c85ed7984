#!/bin/bash
# Tests that tools/install-prometheus-tools takes promtool out of Debian's package without
# installing the package, and says what is wrong if it cannot. apt is made up.
set -euo pipefail

install=$PWD/$1
root=$(realpath "$TEST_TMPDIR")
home=$root/data/muster/prometheus

. tests/tools/fake_commands.sh

# make_package PROGRAM: makes a package prometheus with this program.
make_package() {
  rm -rf "$root/package" "$root"/prometheus_*.deb
  make_command "$root/package/usr/bin/$1" <<< ''
  make_command "$root/package/usr/bin/prometheus" <<< ''
  mkdir -p "$root/package/DEBIAN"
  printf '%s\n' 'Package: prometheus' 'Version: 2-1' 'Architecture: all' 'Maintainer: nobody' 'Description: it' \
    > "$root/package/DEBIAN/control"
  dpkg-deb --build "$root/package" "$root/prometheus_2-1_all.deb" > /dev/null
}

make_command apt-get <<EOF
echo "apt-get \$*" >> '$root/calls'
[[ "\$*" != *download* ]] || cp '$root'/prometheus_*.deb . 2> /dev/null || { echo "E: no package prometheus"; exit 100; }
EOF

run() {
  : > "$root/calls"
  status=0
  PATH="$root/bin:$PATH" XDG_DATA_HOME=$root/data "$install" "$@" > "$root/output" 2>&1 || status=$?
}

expect_status() { [[ $status == "$1" ]] || fail "status $status, expected $1"; }
expect_output() { grep -q -- "$1" "$root/output" || fail "the output lacks '$1'"; }

echo "== without the package it says so, and leaves nothing"
run
expect_status 1
expect_output 'E: no package prometheus'
[[ ! -e $home ]] || fail "there is something in its folder"

echo "== promtool alone is taken from it, and nothing is installed"
make_package promtool
run
expect_status 0
[[ -x $home/promtool && $(ls "$home") == promtool ]] || fail "there is $(ls "$home")"
! grep -v simulate "$root/calls" | grep -q install || fail "apt was called: $(cat "$root/calls")"

echo "== once is enough"
run
expect_status 0
[[ ! -s $root/calls && ! -s $root/output ]] || fail "it was done again"

echo "== a package without it"
rm -r "$root/data"
make_package other
run
expect_status 1
expect_output 'does not hold what was expected'
[[ ! -e $home ]] || fail "there is something in its folder"

run --nonsense
expect_status 2
