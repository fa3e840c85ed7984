#!/bin/bash
# only_glibc.sh TARBALL PROGRAM...: runs musterd, muster and ranks of the unpacked TARBALL, and PROGRAMs
# that were built against another copy, with the loader and the libraries of this machine's glibc alone;
# programs in C++ have the C++ library, too. No system of its own is made, so this needs no privileges:
# what the binaries read beside libraries is this machine's. tools/test-dist calls it.
set -euo pipefail

. "$(dirname "$0")/expect.sh"

tarball=$(realpath "$1")
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
loader=$(readelf --program-headers /bin/true | sed -nE 's/.*interpreter: (.*)\]/\1/p')

# bring LIBRARY...: links them into the folder of libraries that are all there is.
bring() {
  local name
  mkdir -p "$work/lib"
  for name in "$@"; do cp -L "$(gcc -print-file-name="$name")" "$work/lib/$name"; done
}

libraries() { echo "$work/lib:$tarball/lib"; }

# check_libraries FILE: expects that the loader finds what FILE needs there and nowhere else. It looks at the
# machine's own folders last, and this is how one notices.
check_libraries() {
  local others
  others=$("$loader" --inhibit-cache --library-path "$(libraries)" --list "$1") || fail "$1 cannot be loaded: $others"
  others=$(grep -vE "linux-vdso|=> ($work/lib|$tarball/lib)/|^\s*$loader|=> $loader" <<< "$others" || true)
  [[ -z $others ]] || fail "$1 needs more than glibc: $others"
}

# wrap NAME FILE: a command that runs FILE by that loader.
wrap() {
  mkdir -p "$work/bin"
  printf '#!/bin/sh\nexec %q --inhibit-cache --library-path %q %q "$@"\n' "$loader" "$(libraries)" "$2" > "$work/bin/$1"
  chmod +x "$work/bin/$1"
}

bring libc.so.6 libm.so.6 libpthread.so.0 libdl.so.2 librt.so.1
for name in musterd muster; do
  check_libraries "$tarball/bin/$name"
  wrap $name "$tarball/bin/$name"
done
# A tarball of tools/dist --system-gloo has libraries of Debian's beside ours, in C++.
[[ ! -e $tarball/lib/libgloo.so.0 ]] || bring libstdc++.so.6 libgcc_s.so.1 libz.so.1
check_libraries "$tarball/lib/libmuster.so.0"

echo "== musterd and muster"
export MUSTER_MUSTERD=$work/bin/musterd
"$work/bin/muster" --version
"$work/bin/musterd" --version
# shellcheck disable=SC2016
expect 'rank [01] of 2' "$work/bin/muster" run --nproc-per-node 2 -- sh -c 'echo "rank $RANK of $WORLD_SIZE"'

echo "== programs in C and C++"
for program in "$@"; do
  [[ $program != */c++* ]] || bring libstdc++.so.6 libgcc_s.so.1
  check_libraries "$program"
  wrap rank "$program"
  expect 'of 2: 3 apples' "$work/bin/muster" run --nproc-per-node 2 -- "$work/bin/rank"
done
echo "The tarball needs nothing but glibc."
