#!/bin/bash
# Runs tools/image in a made-up tree, with stand-ins for the builders and for what Bazel builds.
set -euo pipefail

root=$TEST_TMPDIR/root
mkdir -p "$root"/{tools,deploy,client/include/muster,bin}
cp "$1" "$root/tools/image"
echo '#define MUSTER_VERSION "1.2.3"' > "$root/client/include/muster/version.h"
echo 'FROM scratch' > "$root/deploy/Dockerfile"

. tests/tools/fake_commands.sh

# make_builder NAME WORKS: makes a builder that notes its calls. It has no image, and reaches no
# registry.
make_builder() {
  make_command "$root/bin/$1" <<EOF
echo "$1 \$*" >> '$root/calls'
case "\$*" in
  info) $2 ;;
  *inspect*) [[ -e '$root/has-base' ]] ;;
  *pull*) echo "no route to the registry" >&2; exit 1 ;;
  *from*) echo container ;;
esac
EOF
}

make_command "$root/tools/image-content" <<EOF
mkdir -p "\$1/muster" && echo program > "\$1/muster/program"
EOF
make_command "$root/bin/debootstrap" <<EOF
echo "debootstrap \$*" >> '$root/calls'
mkdir -p "\$3/var"/{cache/apt,lib/apt/lists,log}
EOF
make_command "$root/bin/git" <<< 'echo 0123456789'
make_command "$root/bin/id" <<< 'echo ${AS:-0}'
for tool in bash env cat sed awk du dirname readlink realpath mktemp mkdir cp rm tail tar timeout head; do
  ln -s "$(command -v $tool)" "$root/bin/$tool"
done

run() {
  status=0
  : > "$root/calls"
  PATH=$root/bin "$root/tools/image" "$@" > "$root/output" 2>&1 || status=$?
}

expect() { [[ $status == "$1" ]] || fail "status $status, expected $1"; }
expect_output() { grep -q -- "$1" "$root/output" || fail "the output lacks '$1'"; }
expect_call() { grep -q -- "$1" "$root/calls" || fail "'$1' was not called: $(cat "$root/calls")"; }
expect_no_call() { ! grep -q -- "$1" "$root/calls" || fail "'$1' was called: $(cat "$root/calls")"; }

echo "== no builder: says what to install"
run
expect 1
expect_output "Debian's package buildah"

echo "== one that does not work is passed by"
make_builder docker "exit 1"
make_builder podman "exit 0"
touch "$root/has-base"
run
expect 0
expect_output "podman builds muster:1.2.3 and muster-examples:1.2.3"
expect_call "podman build .*--target muster --tag muster:1.2.3 "
expect_call "podman build .*--target muster-examples --tag muster-examples:1.2.3 "
expect_call "--build-arg REVISION=0123456789"
expect_no_call "docker build"

echo "== but not if it is asked for"
run --builder docker
expect 1
expect_output "docker is not here, or does not work"

echo "== no registry: the base is made"
rm "$root/has-base"
make_builder buildah "exit 0"
run --root "$root/images"
expect 0
expect_call "buildah --root $root/images/store --runroot $root/images/run pull"
expect_call "debootstrap --variant=minbase bookworm\|debootstrap --variant=minbase trixie"
expect_call "buildah .* commit .* debian:.*-slim"

echo "== which a user cannot do, who is told why there is none"
AS=1000 run
expect 1
expect_output "needs root"
expect_output "no route to the registry"

echo "== without a registry if so told"
run --debootstrap
expect 0
expect_no_call pull
expect_call debootstrap

echo "== arguments"
run --help
expect 0
expect_output "^Usage: tools/image"
run --nonsense
expect 2
