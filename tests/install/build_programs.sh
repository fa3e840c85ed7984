#!/bin/bash
# build_programs.sh TARBALL FOLDER: builds the programs of docs/link.md in C, and in C++ without Abseil,
# against the unpacked TARBALL, by pkg-config and by CMake, and puts them into FOLDER.
# tools/test-fresh --tarball and tools/test-dist run them elsewhere.
set -euo pipefail

tarball=$(realpath "$1")
folder=$(realpath "$2")
. "$(dirname "$0")/expect.sh"
program=$(realpath "$(dirname "$0")/program")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PKG_CONFIG_PATH=$tarball/lib/pkgconfig

# shellcheck disable=SC2046  # what pkg-config prints is words
build_by_pkg_config() {
  gcc "$program/sum.c" -o "$folder/c-by-pkg-config" $(pkg-config --cflags --libs muster-c)
  g++ -std=c++17 "$program/sum_portable.cc" -o "$folder/c++-by-pkg-config" $(pkg-config --cflags --libs muster-c)
}

build_by_cmake() {
  cp "$program"/{sum.c,sum_portable.cc} "$work"
  cat > "$work/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.16)
project(sum C CXX)
find_package(muster REQUIRED COMPONENTS portable)
add_executable(c-by-cmake sum.c)
target_link_libraries(c-by-cmake muster::c)
add_executable(c++-by-cmake sum_portable.cc)
target_link_libraries(c++-by-cmake muster::portable)
END
  cmake -S "$work" -B "$work/build" -DCMAKE_PREFIX_PATH="$tarball"
  cmake --build "$work/build"
  mv "$work"/build/{c,c++}-by-cmake "$folder"
}

build_by_pkg_config > "$work/log" 2>&1 || fail "pkg-config: no program can be built against $tarball: $(tail -n 20 "$work/log")"
build_by_cmake > "$work/log" 2>&1 || fail "CMake: no program can be built against $tarball: $(tail -n 20 "$work/log")"
