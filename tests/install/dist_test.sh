#!/bin/bash
# Tests tools/dist: what is in the tarball, that programs can be built against it wherever it is
# unpacked, and what it refuses to pack. Small programs and a small library stand in for Muster's.
set -euo pipefail

root=$(realpath "$TEST_TMPDIR")
checkout=$root/checkout
built=$root/built

. tests/tools/fake_commands.sh

export PKG_CONFIG_PATH='' HOME=$root
unset LD_LIBRARY_PATH CPATH SOURCE_DATE_EPOCH

# compile PLACE OPTION...: compiles standard input into a file that Bazel would have built.
compile() {
  mkdir -p "$(dirname "$built/$1")"
  gcc -O2 -x c - -o "$built/$1" "${@:2}"
}

# Compiles a library that reports which one it is.
compile_library() {
  compile client/shared/portable/libmuster.so -shared -fPIC -Wl,-soname,libmuster.so.0 "$@" <<< "$library"
}

make_checkout() {
  mkdir -p "$checkout"
  cp -rL LICENSE client deploy tools "$checkout"
  make_command "$checkout/tools/man-pages" <<< 'mkdir -p "$4/man1" && echo page > "$4/man1/muster.1.gz"'
  local program='#include <stdio.h>
int main(void) { return puts("of " NAME) < 0; }'
  library='const char* muster_version(void) { return "unpacked"; }'
  compile server/musterd -DNAME='"musterd"' <<< "$program"
  compile client/cli/muster -DNAME='"muster"' <<< "$program"
  compile client/nccl/profiler/libnccl-profiler-muster.so -shared -fPIC <<< 'int ncclProfiler_v1;'
  compile_library
}

# run OPTION...: runs tools/dist into $root/out. Leaves its status in $status.
run() {
  rm -rf "$root/out"
  status=0
  "$checkout/tools/dist" --built "$built" --out "$root/out" "$@" > "$root/output" 2>&1 || status=$?
}

expect_status() { [[ $status == "$1" ]] || fail "status $status, expected $1"; }
expect_output() { grep -qE -- "$1" "$root/output" || fail "the output lacks '$1'"; }

# expect_refusal TEXT: expects that tools/dist refuses with TEXT and makes nothing.
expect_refusal() {
  run
  expect_status 1
  expect_output "$1"
  expect_output '^dist: nothing was made'
  [[ -z $(ls "$root/out") ]] || fail "there is $(ls "$root/out")"
}

make_checkout
version=$(sed -nE 's/^#define MUSTER_VERSION "(.*)"/\1/p' client/include/muster/version.h)
name=muster-$version-linux-$(uname -m)

echo "== one folder of the tarball's name, with all that is promised"
run
expect_status 0
(cd "$root/out" && sha256sum --quiet --check "$name.tar.xz.sha256") || fail "the sum is another"
tar -tf "$root/out/$name.tar.xz" | sed "s|^$name/||" | grep -v '/$' > "$root/list"
diff - "$root/list" <<END || fail "the tarball has other files, see above"

bin/muster
bin/musterd
include/muster/c.h
include/muster/cxx17.h
include/muster/portable.h
lib/cmake/muster/musterConfig.cmake
lib/cmake/muster/musterConfigVersion.cmake
lib/libmuster.so
lib/libmuster.so.0
lib/libmuster.so.$version
lib/libnccl-profiler-muster.so
lib/pkgconfig/muster-c.pc
share/bash-completion/completions/muster
share/bash-completion/completions/musterd
share/doc/muster/LICENSE
share/doc/muster/muster.spdx.json
share/doc/muster/third-party
share/man/man1/muster.1.gz
share/zsh/site-functions/_muster
share/zsh/site-functions/_musterd
END
[[ $(tar -tvf "$root/out/$name.tar.xz" | awk '{ print $2 }' | sort -u) == 0/0 ]] || fail "somebody owns the files"

echo "== the same input gives the same bytes, whoever makes it and when"
cp "$root/out/$name.tar.xz" "$root/first.tar.xz"
find "$checkout" "$built" -exec touch --date 2001-01-01 {} +
(umask 077 && run && expect_status 0)
cmp "$root/first.tar.xz" "$root/out/$name.tar.xz" || fail "two runs give two tarballs"

echo "== a list of what is inside, as SPDX"
mkdir "$root/one"
tar -xf "$root/out/$name.tar.xz" -C "$root/one"
/usr/bin/python3 - "$root/one/$name/share/doc/muster/muster.spdx.json" <<'END' || fail "the list is no such"
import json
import sys
with open(sys.argv[1], encoding="utf-8") as file:
    document = json.load(file)
names = {package["SPDXID"] for package in document["packages"]}
assert document["spdxVersion"] == "SPDX-2.3" and "SPDXRef-libssl-dev" in names, document
assert all(relation["relatedSpdxElement"] in names for relation in document["relationships"]), document
END

mkdir "$root/program"
cat > "$root/program/program.c" <<'END'
#include <muster/c.h>
#include <stdio.h>
int main(void) { return puts(muster_version()) < 0; }
END
cat > "$root/program/program.cc" <<'END'
#include <muster/portable.h>

#include <iostream>
int main() { std::cout << muster::portable::LibraryVersion(); }
END
cat > "$root/program/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.16)
project(program C CXX)
find_package(muster REQUIRED)
add_executable(in_c program.c)
target_link_libraries(in_c muster::c)
add_executable(in_cxx program.cc)
target_link_libraries(in_cxx muster::portable)
if(TARGET muster::muster)
  message(FATAL_ERROR "there is muster::muster, but not its headers")
endif()
END

for folder in one "another place"; do
  echo "== programs are built against it in the folder '$folder', by pkg-config and by CMake, also in C++ without Abseil"
  [[ -d $root/$folder ]] || mv "$root/one" "$root/$folder"
  prefix=$root/$folder/$name
  export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
  declare -a flags
  eval "flags=($(pkg-config --cflags --libs muster-c))"
  for source in program.c program.cc; do
    rm -f "$root/a.out"
    g++ -x "$([[ $source == *.c ]] && echo c || echo c++)" "$root/program/$source" -x none -o "$root/a.out" "${flags[@]}" \
      -Wl,-rpath,"$prefix/lib" > "$root/output" 2>&1 || fail "$source cannot be compiled"
    [[ $("$root/a.out") == unpacked ]] || fail "$source has another library"
  done
  rm -rf "$root/cmake"
  { cmake -S "$root/program" -B "$root/cmake" -DCMAKE_PREFIX_PATH="$prefix" && cmake --build "$root/cmake"; } \
    > "$root/output" 2>&1 || fail "CMake does not find it"
  for program in in_c in_cxx; do
    [[ $("$root/cmake/$program") == unpacked ]] || fail "$program has another library"
  done
done

echo "== C++ programs need no Abseil, no exceptions and no compiler of ours, and get no warnings"
# Every Abseil header that could be found is an error.
mkdir -p "$root/no_abseil/absl"
for header in base/config.h status/status.h status/statusor.h strings/string_view.h types/span.h time/time.h; do
  mkdir -p "$root/no_abseil/absl/$(dirname "$header")"
  echo '#error "Abseil is used"' > "$root/no_abseil/absl/$header"
done
compilers=(g++)
! command -v clang++ > /dev/null || compilers+=(clang++)
for compiler in "${compilers[@]}"; do
  for standard in c++17 c++20; do
    for exceptions in -fexceptions -fno-exceptions; do
      "$compiler" -std="$standard" "$exceptions" -Wall -Wextra -Werror -pedantic -Wshadow -Wconversion -fsyntax-only \
        -I "$root/no_abseil" -I "$prefix/include" tests/client/portable/rank.cc > "$root/output" 2>&1 ||
        fail "$compiler -std=$standard $exceptions does not compile muster/portable.h"
    done
  done
done
! g++ -std=c++17 -M -I "$prefix/include" tests/client/portable/rank.cc | grep /absl/ || fail "it includes Abseil"

echo "== a symbol of a newer C library is refused by name, with the file that needs it"
library='#include <stdlib.h>
unsigned muster_number(void) { return arc4random(); }' compile_library
expect_refusal "^binaries: lib/libmuster.so.$version needs arc4random, which came with glibc 2.36$"

echo "== so is a library that is not the C library's"
library='#include <zlib.h>
const char* muster_zlib(void) { return zlibVersion(); }' compile_library -lz
expect_refusal "^binaries: lib/libmuster.so.$version needs libz.so.1, which not every machine has"
compile_library
g++ -x c++ - -o "$built/server/musterd" <<< '#include <iostream>
int main() { std::cout << 1; }'
expect_refusal '^binaries: bin/musterd needs .*_ZNSo.*, which belong inside \(GLIBCXX\)$'
expect_output '^binaries: bin/musterd needs libstdc\+\+.so.6, which not every machine has'

echo "== with --system-gloo a library of this machine goes beside ours, and the tarball names the release"
mkdir "$root/machine"
gcc -shared -fPIC -x c - -o "$root/machine/libbelow.so.1" -Wl,-soname,libbelow.so.1 <<< 'int below(void) { return 1; }'
gcc -shared -fPIC -x c - -o "$root/machine/libbeside.so.0" -Wl,-soname,libbeside.so.0,"$root/machine/libbelow.so.1" \
  <<< 'int below(void); int beside(void) { return below(); }'
library='int beside(void);
const char* muster_version(void) { return beside() == 1 ? "unpacked" : "torn"; }' \
  compile_library -Wl,"$root/machine/libbeside.so.0",--disable-new-dtags,-rpath,'$ORIGIN'
g++ -O2 -x c++ - -o "$built/server/musterd" -static-libstdc++ -static-libgcc <<< 'int main() {}'
LD_LIBRARY_PATH=$root/machine run --system-gloo
expect_status 0
name=muster-$version-$(. /etc/os-release && echo "$ID$VERSION_ID")-$(uname -m)
mkdir "$root/beside"
tar -xf "$root/out/$name.tar.xz" -C "$root/beside"
mv "$root/machine" "$root/gone"
for library in libbeside.so.0 libbelow.so.1; do
  cmp "$root/gone/$library" "$root/beside/$name/lib/$library" || fail "$library is not beside libmuster.so"
done
eval "flags=($(PKG_CONFIG_PATH=$root/beside/$name/lib/pkgconfig pkg-config --cflags --libs muster-c))"
gcc "$root/program/program.c" -o "$root/a.out" "${flags[@]}" -Wl,-rpath,"$root/beside/$name/lib" > "$root/output" 2>&1 ||
  fail "it cannot be linked"
[[ $("$root/a.out") == unpacked ]] || fail "it does not run from its folder"

run --nonsense
expect_status 2
