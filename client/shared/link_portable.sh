#!/bin/bash
# link_portable.sh LINK_SHARED GLOO... -- ARGUMENT...: calls LINK_SHARED with the ARGUMENTs, for a library that needs nothing
# but the C library, whatever program loads it: the C++ library is inside and hidden, as Gloo is. Where
# tools/install-pic-objects --gloo has not run, GLOO is no object; then both are found beside the library or on the machine.
set -euo pipefail

link_shared=$1
shift
gloo=()
while [[ $1 != -- ]]; do gloo+=("$1"); shift; done
shift

# An RPATH, and no RUNPATH, counts for what the libraries beside it need, too.
case ${gloo[0]} in
  *.o) exec "$link_shared" "$@" "${gloo[@]}" -- -l:libz.a -static-libstdc++ -static-libgcc ;;
  *) exec "$link_shared" "$@" -- -lgloo -Wl,--disable-new-dtags "-Wl,-rpath,\$ORIGIN" ;;
esac
