#!/bin/bash
# Tests that tools/install-prometheus-tools takes promtool out of the Debian package that has it,
# without installing the package, and says what is wrong if it cannot. apt is made up.
set -euo pipefail

install=$PWD/$1
root=$(realpath "$TEST_TMPDIR")
home=$root/data/muster/prometheus

. tests/tools/fake_commands.sh

# make_package NAME PROGRAM...: makes a package with these programs.
make_package() {
  local name=$1 program
  shift
  rm -rf "$root/package" "$root/packages/${name}_"*
  for program; do make_command "$root/package/usr/bin/$program" <<< ''; done
  mkdir -p "$root/package/DEBIAN" "$root/packages"
  printf '%s\n' "Package: $name" 'Version: 2-1' 'Architecture: all' 'Maintainer: nobody' 'Description: it' \
    > "$root/package/DEBIAN/control"
  dpkg-deb --build "$root/package" "$root/packages/${name}_2-1_all.deb" > /dev/null
}

make_command apt-get <<EOF
echo "apt-get \$*" >> '$root/calls'
package=\${*: -1}
case "\$*" in
  *simulate*) compgen -G "$root/packages/\${package}_*" > /dev/null ;;
  *download*) cp "$root/packages/\$package"_*.deb . 2> /dev/null || { echo "E: no package \$package"; exit 100; } ;;
esac
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
make_package prometheus prometheus promtool
run
expect_status 0
[[ -x $home/promtool && $(ls "$home") == promtool ]] || fail "there is $(ls "$home")"
! grep -v simulate "$root/calls" | grep -q install || fail "apt was called: $(cat "$root/calls")"

echo "== once is enough"
run
expect_status 0
[[ ! -s $root/calls && ! -s $root/output ]] || fail "it was done again"

echo "== a release that has promtool in a package of its own"
rm -r "$root/data"
make_package prometheus prometheus
make_package promtool promtool
run
expect_status 0
[[ -x $home/promtool && $(ls "$home") == promtool ]] || fail "there is $(ls "$home")"

echo "== a package without it"
rm -r "$root/data" "$root/packages"
make_package prometheus prometheus
run
expect_status 1
expect_output 'does not hold what was expected'
[[ ! -e $home ]] || fail "there is something in its folder"

run --nonsense
expect_status 2
