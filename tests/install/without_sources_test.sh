#!/bin/bash
# Tests tools/install on a system whose apt has no sources. It must install the programs and the
# archive, and say what is missing and how to get it. Stand-ins replace the commands that it calls,
# and what Bazel builds.
set -euo pipefail

root=$(realpath "$TEST_TMPDIR")
checkout=$root/checkout

. tests/tools/fake_commands.sh

make_checkout() {
  mkdir -p "$checkout"
  cp -rL LICENSE client deploy tools "$checkout"
  make_command "$checkout/tools/install-deps" <<< "echo \"install-deps \$*\" >> '$root/calls'"
  make_command "$checkout/tools/install-cuda" <<< 'exit 1'
  make_command "$checkout/tools/man-pages" <<< 'exit 0'
  make_command "$checkout/tools/install-pic-objects" <<< "[[ ! -e '$root/refusal' ]] || { echo 'apt has no sources' >&2; exit \$(< '$root/refusal'); }"
}

# Bazel, which builds what it is asked for. The programs have no completion.
make_commands() {
  make_command bazel <<EOF
echo "bazel \$*" >> '$root/calls'
for target in "\${@:2}"; do
  file=bazel-bin/\${target#//}
  file=\${file/://}
  case \$file in */libmuster) file+=.so ;; */shared/muster) file+=.o ;; esac
  mkdir -p "\$(dirname "\$file")"
  cp /bin/true "\$file"
done
EOF
  make_command strip <<< 'exit 0'
  make_command ar <<< 'cp "$3" "$2"'
}

# run ARGUMENT...: installs into an empty prefix. Leaves the status in $status.
run() {
  rm -rf "$root/prefix"
  run_again "$@"
}

# Installs over what is there.
run_again() {
  rm -rf "$checkout/bazel-bin"
  : > "$root/calls"
  status=0
  PATH=$root/bin:$PATH "$checkout/tools/install" --prefix "$root/prefix" "$@" > "$root/output" 2>&1 || status=$?
}

expect_status() { [[ $status == "$1" ]] || fail "status $status, expected $1"; }
expect_output() { grep -q -- "$1" "$root/output" || fail "the output lacks '$1'"; }
expect_file() { [[ -s $root/prefix/$1 ]] || fail "there is no $1"; }
expect_no_file() { [[ ! -e $root/prefix/$1 ]] || fail "there is $1"; }

make_checkout
make_commands

echo "== with sources all of it is installed, and nothing is said to be missing"
run
expect_status 0
expect_file lib/libmuster.so.0
expect_file lib/pkgconfig/muster.pc
expect_output 'cflags --libs muster)'
! grep -q Missing "$root/output" || fail "something is missing"
grep -qx 'install-deps --install' "$root/calls" || fail "it installs packages for tests, too: $(cat "$root/calls")"

echo "== without them, the programs and the archive; what is missing is said at the end, with the way to it"
echo 3 > "$root/refusal"
run
expect_status 0
for file in bin/musterd bin/muster lib/libmuster.a lib/pkgconfig/muster-static.pc include/muster/muster.h; do expect_file $file; done
for file in lib/libmuster.so lib/libmuster.so.0 lib/pkgconfig/muster.pc lib/pkgconfig/muster-c.pc include/muster/nccl.h; do
  expect_no_file $file
done
! grep -q 'client/shared:libmuster' "$root/calls" || fail "Bazel was asked for the library: $(cat "$root/calls")"
expect_output '^apt has no sources$'
expect_output '^Missing: libmuster.so'
expect_output 'Types: deb-src'
expect_output 'cflags --libs muster-static)'

echo "== over an installation that has the library, no old library is left"
rm "$root/refusal"
run
expect_file lib/libmuster.so.0
echo 3 > "$root/refusal"
run_again
expect_status 0
for file in lib/libmuster.so lib/libmuster.so.0 lib/pkgconfig/muster.pc; do expect_no_file $file; done
expect_file bin/musterd

echo "== so it does for packages, which say nothing of variables"
run --destdir "$root/packaged"
expect_status 0
expect_output '^Missing: libmuster.so'

echo "== objects that cannot be compiled are a failure, and nothing is installed"
echo 1 > "$root/refusal"
run
expect_status 1
expect_output 'could not be made, see above. Nothing was installed'
expect_no_file bin/musterd
