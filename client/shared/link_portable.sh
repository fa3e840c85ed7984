#!/bin/bash
# link_portable.sh LINK_SHARED GLOO... -- ARGUMENT...
#
# Calls LINK_SHARED (link_shared.sh) with the ARGUMENTs to link a library that needs only glibc. It contains the C++
# library and Gloo, and hides them. If tools/install-pic-objects --gloo has not run, GLOO is not an object file. Then the
# library needs the machine's C++ library, and libgloo.so.0 in its own folder.
set -euo pipefail

link_shared=$1
shift
gloo=()
while [[ $1 != -- ]]; do gloo+=("$1"); shift; done
shift

# --disable-new-dtags makes the linker write an RPATH. Unlike a RUNPATH, it also applies to what libgloo.so.0 needs.
case ${gloo[0]} in
  *.o) exec "$link_shared" "$@" "${gloo[@]}" -- -l:libz.a -static-libstdc++ -static-libgcc ;;
  *) exec "$link_shared" "$@" -- -lgloo -Wl,--disable-new-dtags "-Wl,-rpath,\$ORIGIN" ;;
esac
