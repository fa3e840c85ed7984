#!/bin/bash
# link_portable.sh LINK_SHARED GLOO... -- ARGUMENT...: calls LINK_SHARED with the ARGUMENTs, for a library that needs glibc
# alone. The C++ library and Gloo are inside and hidden. If tools/install-pic-objects --gloo has not run, GLOO is a file
# that is no object. The library then needs the machine's C++ library, and libgloo.so.0 beside itself.
set -euo pipefail

link_shared=$1
shift
gloo=()
while [[ $1 != -- ]]; do gloo+=("$1"); shift; done
shift

# An RPATH also counts for the needs of the libraries beside this one. A RUNPATH does not.
case ${gloo[0]} in
  *.o) exec "$link_shared" "$@" "${gloo[@]}" -- -l:libz.a -static-libstdc++ -static-libgcc ;;
  *) exec "$link_shared" "$@" -- -lgloo -Wl,--disable-new-dtags "-Wl,-rpath,\$ORIGIN" ;;
esac
