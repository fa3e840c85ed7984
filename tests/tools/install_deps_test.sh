#!/bin/bash
# Runs tools/install-deps on made-up systems. The commands that it calls are stand-ins on the PATH.
set -euo pipefail

install_deps=$PWD/$1
root=$TEST_TMPDIR

. tests/tools/fake_commands.sh

# make_system ID VERSION UID: makes a system on which nothing is installed yet.
make_system() {
  rm -rf "${root:?}/bin" "$root/installed" "$root/calls"
  touch "$root/installed" "$root/calls"
  printf 'ID=%s\nVERSION_ID="%s"\n' "$1" "$2" > "$root/os-release"
  echo "echo $3" | make_command id
  echo "sed 's/\$/ installed/' '$root/installed'" | make_command dpkg-query
  make_command apt-get <<EOF
echo "apt-get \$*" >> '$root/calls'
case "\$*" in
  *--simulate*) grep -q 'apt-get update' '$root/calls' ;;
  *chromium*) '$install_deps' --print > '$root/installed'
    printf '%s\n' chromium chromium-driver python3-selenium >> '$root/installed' ;;
  install*) '$install_deps' --print > '$root/installed' ;;
esac
EOF
  for tool in bash env cat awk grep fold sed dirname readlink; do ln -s "$(command -v $tool)" "$root/bin/$tool"; done
}

add_sudo() {
  make_command sudo <<EOF
echo "sudo" >> '$root/calls'
exec "\$@"
EOF
}

# run ARGUMENT...: leaves the status in $status, and the output in the file `output`.
run() {
  status=0
  PATH=$root/bin OS_RELEASE=$root/os-release "$install_deps" "$@" > "$root/output" 2>&1 || status=$?
}

expect_status() { [[ $status == "$1" ]] || fail "status $status, expected $1"; }
expect_output() { grep -q -- "$1" "$root/output" || fail "the output lacks '$1'"; }
expect_call() { grep -q -- "$1" "$root/calls" || fail "'$1' was not called: $(cat "$root/calls")"; }
expect_no_call() { ! grep -q -- "$1" "$root/calls" || fail "'$1' was called: $(cat "$root/calls")"; }

echo "== a fresh system: fetches lists, says what it installs, installs"
make_system debian 12 0
run
expect_status 0
expect_output "installing g++ .*libgrpc++-dev"
expect_call "apt-get update"
expect_call "apt-get install --yes .*libgloo-dev"
expect_no_call sudo

echo "== again: silent, and calls nothing"
: > "$root/calls"
run
expect_status 0
[[ ! -s $root/output ]] || fail "it is not silent"
expect_no_call .

echo "== what builds, and nothing else; and what installs"
make_system debian 12 0
run --build
expect_status 0
expect_call "apt-get install --yes .*libboost-dev"
expect_no_call "clang"
expect_no_call "help2man"
make_system debian 12 0
run --install
expect_call "apt-get install --yes .*help2man"
expect_no_call "clang"

echo "== nothing is asked of source packages"
expect_no_call "source"

echo "== the download is apart from what follows, and both are timed"
expect_call "apt-get install .*--download-only"
expect_output "the download has taken [0-9]* s, and unpacking [0-9]* s"

echo "== one package missing: only that one is installed"
make_system debian 13 0
"$install_deps" --print | grep -vx libcsv-dev > "$root/installed"
run
expect_status 0
expect_output "installing libcsv-dev and"
expect_no_call "apt-get install --yes.*libgloo-dev"

echo "== the browser comes where it is asked for, and once"
run --browser
expect_status 0
expect_output "installing chromium chromium-driver python3-selenium and"
expect_call "apt-get install --yes.* chromium"
: > "$root/calls"
run --browser
expect_status 0
[[ ! -s $root/output ]] || fail "it is not silent"
expect_no_call .

echo "== a user with sudo"
make_system debian 12 1000
add_sudo
run
expect_status 0
expect_call sudo

echo "== a user without sudo is refused, and told what is missing"
make_system debian 12 1000
run
expect_status 1
expect_output "needs root to install: g++"
expect_output "install sudo"
expect_no_call .

echo "== an unknown system is refused by name, with the way by hand"
make_system ubuntu 24.04 0
run
expect_status 1
expect_output "ubuntu 24.04"
expect_output "by hand"
expect_output "libgloo-dev"
expect_no_call .

echo "== a failure of apt-get is one of install-deps"
make_system debian 12 0
echo "exit 100" | make_command apt-get
run
expect_status 1
expect_output "could not install"

echo "== arguments"
run --print
expect_status 0
expect_output "^bazel-bootstrap$"
expect_output "^clang$"
run --build --print
expect_output "^bazel-bootstrap$"
! grep -q "^clang$" "$root/output" || fail "clang builds nothing"
run --help
expect_status 0
expect_output "^Usage: tools/install-deps"
run --nonsense
expect_status 2
expect_output "'--nonsense'"
