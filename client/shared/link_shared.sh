#!/bin/bash
# link_shared.sh OUT SONAME VERSION.H VERSION-SCRIPT OBJECT... -- LIBRARY...: links a shared library that has gRPC,
# protobuf, Abseil and OpenSSL inside. Nobody sees them there: what is exported is what the version script names, in
# which @VERSION@ stands for what VERSION.H says.
set -euo pipefail

out=$1 soname=$2 version=$(sed -nE 's/^#define MUSTER_VERSION "(.*)"/\1/p' "$3")
versions=$out.map
sed "s/@VERSION@/$version/" "$4" > "$versions"
trap 'rm "$versions"' EXIT
shift 4
objects=()
while [[ $1 != -- ]]; do objects+=("$1"); shift; done
shift

# Whatever of Abseil is needed: which archives these are differs between its versions.
archives=$(dirname "$(g++ -print-file-name=libabsl_base.a)")
inside=(-l:lib{grpc++,grpc,gpr,upb,address_sorting,re2,cares,ssl,crypto,protobuf}.a)
inside+=("$archives"/libabsl_*.a)

# Debian 13's OpenSSL needs zstd, and Debian 12's does not. The shared OpenSSL has brought the library, if not what is
# for linking it.
outside=(-lz -lpthread -ldl)
[[ ! -e $(g++ -print-file-name=libzstd.so.1) ]] || outside+=(-l:libzstd.so.1)

# The objects that Debian's archives have in a form for programs come first (tools/install-pic-objects).
g++ -shared -o "$out" -Wl,-soname,"$soname" -Wl,--version-script,"$versions" -Wl,-Bsymbolic-functions \
  -Wl,-z,defs -Wl,-z,relro -Wl,-z,now -Wl,--gc-sections -Wl,--as-needed \
  "${objects[@]}" -Wl,--start-group "${inside[@]}" -Wl,--end-group "$@" "${outside[@]}"
