#!/bin/bash
# tools/install-library-sources lays out the sources that apt has, of the versions that it would install, and
# says what to do where it has none. apt is made up.
set -euo pipefail

install_library_sources=$PWD/$1
root=$(realpath "$TEST_TMPDIR")

. tests/tools/stand_ins.sh

# make_lists CIVETWEB-VERSION: what the package lists say.
make_lists() {
  make_command apt-cache <<EOF
printf 'Package: libcivetweb-dev\nSource: civetweb (1:$1)\nVersion: 1:$1+b1\n\n'
printf 'Package: prometheus-cpp-dev\nSource: prometheus-cpp\nVersion: 2-1\n\n'
EOF
}

make_apt() {
  make_command apt-get <<EOF
echo "apt-get \$*" >> '$root/calls'
[[ \$1 == indextargets ]] && { echo "Debian $root/debian.sources:1"; exit; }
[[ "\$*" == *" source "* ]] || exit 0
[[ -e '$root/archive' ]] || { echo "E: Unable to find a source package for civetweb"; exit 100; }
if [[ "\$*" == *--tar-only* ]]; then cp '$root'/archive/*.orig.tar.gz .; else cp '$root'/archive/*.debian.tar.gz .; fi
EOF
  echo 'Types: deb' > "$root/debian.sources"
}

# add_source NAME VERSION FILE...: one whose files are empty.
add_source() {
  local folder=$root/release/$1 file
  for file in "${@:3}"; do
    mkdir -p "$folder/$(dirname "$file")"
    echo "$file" > "$folder/$file"
  done
  mkdir -p "$root/archive" "$root/packaging/$1/debian"
  echo "licence of $1" > "$root/packaging/$1/debian/copyright"
  rm -f "$root/archive/$1"_*
  tar -czf "$root/archive/$1_${2%-*}.orig.tar.gz" -C "$root/release" "$1"
  echo signature > "$root/archive/$1_${2%-*}.orig.tar.gz.asc"
  tar -czf "$root/archive/$1_$2.debian.tar.gz" -C "$root/packaging/$1" debian
}

add_civetweb() { add_source civetweb "$1" src/civetweb.c src/md5.inl include/civetweb.h examples/big.c; }

run() {
  : > "$root/calls"
  status=0
  PATH="$root/bin:$PATH" MUSTER_SOURCES_HOME="$root/home" "$install_library_sources" "$@" > "$root/output" 2>&1 || status=$?
}

expect_status() { [[ $status == "$1" ]] || fail "status $status, expected $1"; }
expect_output() { grep -q -- "$1" "$root/output" || fail "the output lacks '$1'"; }
expect_no_call() { [[ ! -s $root/calls ]] || fail "apt was called: $(cat "$root/calls")"; }

make_lists 1-1
make_apt

echo "== without sources it says so, and what does without, and leaves nothing"
run
expect_status 1
expect_output 'apt has no sources of civetweb prometheus-cpp'
expect_output 'musterd cannot be built without'
[[ ! -e $root/home ]] || fail "there is something in its folder"

echo "== what is compiled is laid out, with its licences, and nothing else"
add_civetweb 1-1
add_source prometheus-cpp 2-1 core/src/text_serializer.cc core/include/prometheus/gauge.h push/src/gateway.cc
run
expect_status 0
(cd "$root/home" && find . -type f | sort) > "$root/found"
diff "$root/found" - <<EOF || fail "there are others"
./civetweb/copyright
./civetweb/include/civetweb.h
./civetweb/src/civetweb.c
./civetweb/src/md5.inl
./prometheus-cpp/copyright
./prometheus-cpp/include/prometheus/gauge.h
./prometheus-cpp/src/text_serializer.cc
./recipe
./versions
EOF

echo "== once is enough, until apt would install another version"
run
expect_status 0
expect_no_call
add_civetweb 1-2
make_lists 1-2
run
expect_status 0
grep -qx 'civetweb 1-2' "$root/home/versions" || fail "it has $(cat "$root/home/versions")"

echo "== without package lists what is there will do"
make_command apt-cache <<< 'exit 100'
run
expect_status 0
expect_no_call

echo "== sources that lack what is compiled are not installed"
make_lists 1-3
rm "$root/release/civetweb/src/civetweb.c"
add_source civetweb 1-3 src/other.c
run
expect_status 1
expect_output 'do not hold what was expected'
grep -qx 'civetweb 1-2' "$root/home/versions" || fail "what was there is gone"

run --nonsense
expect_status 2
