#!/bin/bash
# Tests that tools/install-pic-objects finds the members of archives that cannot be part of a shared
# library, and compiles them again from apt's sources. Without sources it says what to do. The
# archives and apt are made up.
set -euo pipefail

install_pic_objects=$PWD/$1
root=$(realpath "$TEST_TMPDIR")

. tests/tools/fake_commands.sh

# add_member ARCHIVE MEMBER OPTION...: compiles standard input into the archive.
add_member() {
  mkdir -p "$root/archives"
  g++ -O2 -x c++ "${@:3}" -c - -o "$root/$2"
  ar qc "$root/archives/$1" "$root/$2"
}

make_archives() {
  local counter='thread_local int counter; int Count() { return ++counter; }'
  add_member libabsl_base.a counter.cc.o -fPIE <<< "$counter"
  add_member libabsl_base.a print.cc.o -fPIE <<< '#include <iostream>
    void Print() { std::cout << 1; }'
  add_member libabsl_base.a plain.cc.o -fPIE <<< 'int Plain(int i) { return i; }'
  add_member libprotobuf.a counter.o -fPIC <<< "$counter"
  add_member libre2.a plain.o -fPIE <<< 'int Plain(int i) { return i; }'
}

make_system() {
  make_command dpkg-query <<< 'printf "abseil 1-1\nprotobuf 2-1\nre2 3-1\n"'
  make_command apt-get <<EOF
echo "apt-get \$*" >> '$root/calls'
[[ \$1 == indextargets ]] && { echo "Debian $root/debian.sources:1"; exit; }
[[ "\$*" == *" source "* ]] || exit 0
[[ -e '$root/has-sources' ]] || { echo "E: Unable to find a source package for abseil"; exit 100; }
if [[ "\$*" == *--tar-only* ]]; then cp '$root/abseil_1.orig.tar.gz' .; else cp '$root/abseil_1-1.debian.tar.gz' .; fi
EOF
  echo 'Types: deb' > "$root/debian.sources"
}

# Makes sources that only compile with Debian's patch.
make_sources() {
  local folder=$root/release/abseil-1
  mkdir -p "$folder/absl/base" "$root/debian/patches"
  echo 'mend me' > "$folder/absl/base/counter.cc"
  echo 'void Print() {}' > "$folder/absl/base/print.cc"
  printf '%s\n' '--- a/absl/base/counter.cc' '+++ b/absl/base/counter.cc' '@@ -1 +1 @@' '-mend me' '+int Count() { return 1; }' \
    > "$root/debian/patches/mend.patch"
  printf '# why\nmend.patch\n' > "$root/debian/patches/series"
  tar -czf "$root/abseil_1.orig.tar.gz" -C "$root/release" abseil-1
  tar -czf "$root/abseil_1-1.debian.tar.gz" -C "$root" debian
}

run() {
  : > "$root/calls"
  status=0
  PATH="$root/bin:$PATH" MUSTER_PIC_HOME="$root/home" MUSTER_ARCHIVES="$root/archives" \
    "$install_pic_objects" "$@" > "$root/output" 2>&1 || status=$?
}

expect_status() { [[ $status == "$1" ]] || fail "status $status, expected $1"; }
expect_output() { grep -q -- "$1" "$root/output" || fail "the output lacks '$1'"; }

make_archives
make_system
make_sources

echo "== what is compiled for programs only is found: variables of threads, and of shared libraries"
run --list
expect_status 0
diff "$root/output" <(printf 'libabsl_base.a %s.cc.o\n' counter print) || fail "others are"

echo "== without sources it says so, and what to do, and leaves nothing"
run
expect_status 3
expect_output 'apt has no sources of abseil=1-1 protobuf=2-1 re2=3-1'
expect_output 'Unable to find a source package'
expect_output 'docs/link.md'
[[ ! -e $root/home ]] || fail "there is something in its folder"

echo "== they are compiled from the sources of the installed versions"
touch "$root/has-sources"
run
expect_status 0
grep -q 'source --download-only --tar-only abseil=1-1 protobuf=2-1 re2=3-1' "$root/calls" || fail "apt was asked for others: $(cat "$root/calls")"
[[ -s $root/home/libabsl_base.counter.o && -s $root/home/libabsl_base.print.o ]] || fail "there are $(ls "$root/home")"

echo "== once is enough, until a version changes"
run
expect_status 0
[[ ! -s $root/calls ]] || fail "it was done again"
make_command dpkg-query <<< 'printf "abseil 1-2\nprotobuf 2-1\nre2 3-1\n"'
run
expect_status 0
grep -q 'abseil=1-2' "$root/calls" || fail "the new version was not asked for"

echo "== Gloo is compiled from a clone, at the commit that Debian's version names, without what needs other libraries"
make_gloo() {
  local git=(git -C "$root/gloo" -c user.name=t -c user.email=t@t.test) source
  mkdir -p "$root"/gloo/gloo/{common,rendezvous,transport/{tcp/tls,ibverbs},cuda}
  git -C "$root/gloo" init --quiet
  printf '%s\n' '#include "gloo/types.h"' '#if LINUX_VERSION_CODE >= KERNEL_VERSION(4,6,0)' '#error the speed is asked for' \
    '#endif' > "$root/gloo/gloo/common/linux.cc"
  touch "$root/gloo/gloo/types.h"
  for source in context transport/context transport/tcp/context; do echo 'int i;' > "$root/gloo/gloo/$source.cc"; done
  for source in allreduce_cuda cuda/kernel rendezvous/redis_store transport/ibverbs/pair transport/tcp/tls/pair; do
    echo 'needs more' > "$root/gloo/gloo/$source.cc"
  done
  "${git[@]}" add --all && "${git[@]}" commit --quiet --message=release
  commit=$("${git[@]}" rev-parse --short=7 HEAD)
  echo 'a later commit' > "$root/gloo/gloo/context.cc"
  "${git[@]}" commit --quiet --all --message=later
}
make_gloo
make_command dpkg-query <<< "echo gloo 0.0~git20220518.$commit-3"
MUSTER_GLOO_HOME=$root/gloo-home MUSTER_GLOO_REPOSITORY=$root/gloo run --gloo
expect_status 0
[[ $(find "$root/gloo-home" -name '*.o' -printf '%f\n' | sort | xargs) == \
  "gloo.common.linux.o gloo.context.o gloo.transport.context.o gloo.transport.tcp.context.o" ]] ||
  fail "there are $(ls "$root/gloo-home")"
[[ ! -s $root/calls ]] || fail "apt was asked"

echo "== a clone that has not that commit is refused, and without a clone apt is asked"
make_command dpkg-query <<< 'echo gloo 0.0~git20220518.0123456-3'
MUSTER_GLOO_HOME=$root/other-home MUSTER_GLOO_REPOSITORY=$root/gloo run --gloo
expect_status 1
expect_output "git cannot take the commit '0123456' from there"
rm "$root/has-sources"
MUSTER_GLOO_HOME=$root/other-home run --gloo
expect_status 3
expect_output 'apt has no sources of gloo=0.0~git20220518.0123456-3'
expect_output 'MUSTER_GLOO_REPOSITORY names it'
touch "$root/has-sources"

echo "== a source that is not there is named"
add_member libabsl_base.a gone.cc.o -fPIE <<< 'thread_local int gone; int Gone() { return ++gone; }'
make_command dpkg-query <<< 'printf "abseil 1-3\nprotobuf 2-1\nre2 3-1\n"'
run
expect_status 1
expect_output 'gone.cc.o of libabsl_base.a'

run --nonsense
expect_status 2
