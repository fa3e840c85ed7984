#!/bin/bash
# Tests that libmuster.so exports exactly what the public headers declare, and needs no library that
# is linked into it.
set -euo pipefail
shopt -s extglob

library=client/shared/libmuster.so
object=client/shared/muster.o

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

# Leaves out the names of versions, which nm lists too.
nm -D --defined-only "$library" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort > "$TEST_TMPDIR/exported"

echo "== all of it is Muster's"
foreign=$(grep -vE '^(muster_|_Z(T[VIS]|TT|GVZ?)?N?K?6muster)' "$TEST_TMPDIR/exported" || true)
[[ -z $foreign ]] || fail "these are not: $(c++filt <<< "$foreign" | head -n 20)"

echo "== none of it is a message of the protocol"
! grep -E '^_Z[A-Z]*N?K?6muster(2v1|3sdk)' "$TEST_TMPDIR/exported" || fail "those are: see above"

echo "== gRPC, protobuf, Abseil and OpenSSL are inside"
needed=$(readelf -d "$library" | sed -nE 's/.*\(NEEDED\).*\[(.*)\]/\1/p')
echo "$needed"
! grep -E 'grpc|gpr|proto|absl|re2|cares|upb|ssl|crypto' <<< "$needed" || fail "it needs those from outside"
grep -q '^libgloo' <<< "$needed" || fail "it does not need Gloo, whose data plane it has"

echo "== its code is shared: nothing in it is changed when it is loaded"
! readelf -d "$library" | grep TEXTREL || fail "it has relocations in its code"

echo "== all functions of muster/c.h are there, and no other muster_..."
sed -nE '/^ *(\/?\*|\*)/!p' client/include/muster/c.h | tr '\n' ' ' | grep -oE 'MUSTER_C_API [^;]*;' |
  grep -oE '\bmuster_[a-z_]+\(' | sed 's/($//' | sort -u > "$TEST_TMPDIR/declared_in_c"
[[ $(wc -l < "$TEST_TMPDIR/declared_in_c") -gt 70 ]] || fail "only $(wc -l < "$TEST_TMPDIR/declared_in_c") functions were found in c.h"
grep '^muster_' "$TEST_TMPDIR/exported" | diff - "$TEST_TMPDIR/declared_in_c" || fail "see above: < is exported, > is declared"

# Prints the names that begin a declaration in the headers: "Function(", and "Class::" of classes
# that are defined there. Leaves out muster/portable.h, which is inline, and has classes of the same
# names in a namespace of its own.
declared() {
  sed -nE 's/^(class|struct) (\[\[nodiscard\]\] )?([A-Z][A-Za-z]*)( final)?( : [^;]*)? \{.*/\3::/p
    /^(template|inline|  |\/\/|#|using|constexpr)/!s/^[A-Za-z].*[ &*]([A-Z][A-Za-z]+)\(.*/\1(/p' client/include/muster/!(portable).h client/include/muster/toolkits/*.h |
    sort -u
}

# Keeps functions that have an address in the library. Programs have inline functions themselves.
echo "== what the public headers declare is exported"
declared > "$TEST_TMPDIR/declared"
[[ $(wc -l < "$TEST_TMPDIR/declared") -gt 30 ]] || fail "only $(wc -l < "$TEST_TMPDIR/declared") names were found in the headers"
nm --defined-only "$object" | awk '$2 == "T" && $3 ~ /^_ZN?K?6muster/ { print $3 }' | grep -vxF -f "$TEST_TMPDIR/exported" | c++filt |
  sed -nE 's/^muster::(internal::|toolkits::)?([A-Za-z]+)(\[abi:cxx11\])?(::|\().*/\2\4/p' | sort -u > "$TEST_TMPDIR/hidden"
missing=$(comm -12 "$TEST_TMPDIR/declared" "$TEST_TMPDIR/hidden")
[[ -z $missing ]] || fail "client/shared/muster.map hides what headers declare: $(xargs <<< "$missing")"
