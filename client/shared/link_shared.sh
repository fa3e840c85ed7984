#!/bin/bash
# link_shared.sh OUT SONAME VERSION.H VERSION-SCRIPT OBJECT... -- LIBRARY...
#
# Links a shared library that contains gRPC, protobuf, Abseil and OpenSSL, and hides them. It exports only the symbols in
# the version script, in which @VERSION@ stands for the version in VERSION.H.
set -euo pipefail

out=$1 soname=$2 version=$(sed -nE 's/^#define MUSTER_VERSION "(.*)"/\1/p' "$3")
versions=$out.map
sed "s/@VERSION@/$version/" "$4" > "$versions"
trap 'rm "$versions"' EXIT
shift 4
objects=()
while [[ $1 != -- ]]; do objects+=("$1"); shift; done
shift

# All archives of Abseil, because the needed ones differ between its versions. The linker takes what it needs.
archives=$(dirname "$(g++ -print-file-name=libabsl_base.a)")
inside=(-l:lib{grpc++,grpc,gpr,upb,address_sorting,re2,cares,ssl,crypto,protobuf}.a)
inside+=("$archives"/libabsl_*.a)

# Debian 13's OpenSSL needs zstd, and Debian 12's does not. Where it does, the shared OpenSSL has installed
# libzstd.so.1, but perhaps not libzstd.so, which -lzstd would need.
outside=(-lz -lpthread -ldl)
[[ ! -e $(g++ -print-file-name=libzstd.so.1) ]] || outside+=(-l:libzstd.so.1)

# The objects come first: they replace members of Debian's archives that are not position-independent
# (tools/install-pic-objects).
g++ -shared -o "$out" -Wl,-soname,"$soname" -Wl,--version-script,"$versions" -Wl,-Bsymbolic-functions \
  -Wl,-z,defs -Wl,-z,relro -Wl,-z,now -Wl,--gc-sections -Wl,--as-needed \
  "${objects[@]}" -Wl,--start-group "${inside[@]}" -Wl,--end-group "$@" "${outside[@]}"
