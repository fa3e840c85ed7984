#!/bin/bash
# Tests that pip installs the wheel of tools/wheel in a bare environment without a network. The
# package must find its own library, since this test does not say where it is.
set -euo pipefail

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

python=${MUSTER_TEST_PYTHON:-/usr/bin/python3}
work=$(realpath "$TEST_TMPDIR")
unset LD_LIBRARY_PATH PYTHONPATH MUSTER_COORDINATOR
export HOME=$work PYTHONDONTWRITEBYTECODE=1

tools/wheel --built "$PWD" --out "$work/out" > "$work/said" || fail "$(cat "$work/said")"
wheel=$(echo "$work"/out/muster-*-py3-none-manylinux_2_*.whl)
[[ -s $wheel ]] || fail "there is no wheel: $(ls "$work/out")"
grep -q "^wheel: $wheel " "$work/said" || fail "it does not say where it is: $(cat "$work/said")"

echo "== one input gives one wheel"
# Compares small programs, in which compression makes no difference.
small_library=$work/libsmall.so
gcc -shared -x c -o "$small_library" - <<< 'int muster_small(void) { return 1; }'
for time in 2001-01-01 2002-02-02; do
  mkdir -p "$work/$time"/{server,client/cli,client/shared/portable}
  cp /bin/true "$work/$time/server/musterd"
  cp /bin/true "$work/$time/client/cli/muster"
  cp "$small_library" "$work/$time/client/shared/portable/libmuster.so"
  find "$work/$time" -exec touch --date "$time" {} +
  PYTHONHASHSEED=${time:0:4} tools/wheel --built "$work/$time" --out "$work/$time" > "$work/said" || fail "$(cat "$work/said")"
done
cmp "$work"/2001-01-01/*.whl "$work"/2002-02-02/*.whl || fail "one input gives two wheels"

echo "== Gloo is inside the library, or beside it"
"$python" -m zipfile -e "$wheel" "$work/unpacked"
native=$work/unpacked/muster/_native
for name in $(readelf -d "$native/libmuster.so.0" | sed -nE 's/.*\(NEEDED\).*\[(libgloo.*)\]/\1/p'); do
  [[ -s $native/$name ]] || fail "the wheel has no $name"
  readelf -d "$native/libmuster.so.0" | grep -q 'RPATH.*\[$ORIGIN\]' || fail "libmuster.so.0 has no RPATH of its own folder"
done

echo "== it exports muster/c.h and nothing else"
foreign=$(nm -D --defined-only "$native/libmuster.so.0" | awk '$2 != "A" { print $3 }' | grep -v '^muster_' || true)
[[ -z $foreign ]] || fail "libmuster.so.0 exports others: $(head -n 5 <<< "$foreign")"

echo "== it opens CUDA and NCCL at run time, and needs neither"
! readelf -d "$native/libmuster.so.0" | grep -E 'NEEDED.*lib(cuda|nccl)' || fail "it needs those, see above"

echo "== the terms and the list of what is inside are there"
for file in licenses/LICENSE licenses/libssl-dev sboms/muster.spdx.json; do
  [[ -s $(echo "$work"/unpacked/muster-*.dist-info/$file) ]] || fail "there is no $file"
done

echo "== pip installs it, and removes it again"
"$python" -m venv "$work/venv" > "$work/said" 2>&1 || fail "no environment can be made: $(cat "$work/said")"
"$work/venv/bin/pip" install --quiet --no-index --disable-pip-version-check "$wheel" || fail "pip does not take it"
for program in muster musterd; do
  [[ $("$work/venv/bin/$program" --version) == "$program "* ]] || fail "$program does not run"
done
mapped=$("$work/venv/bin/python" -c 'import muster; print(open("/proc/self/maps").read())' | grep -oE '/[^ ]*lib(muster|gloo)[^ ]*' | sort -u)
libraries=$(find "$native" -name 'libmuster*' -o -name 'libgloo*' | wc -l)
[[ $(grep -c "^$work/venv/.*/muster/_native/" <<< "$mapped") == "$libraries" ]] || fail "the libraries are others: $mapped"

echo "== it works"
PYTHONPATH=$PWD/tests/client/python "$work/venv/bin/python" tests/client/python/serial_test.py || fail "serial_test"

echo "== the example has its data with it"
(cd "$work" && timeout 120 "$work/venv/bin/muster" run --nproc-per-node 2 -- "$work/venv/bin/python" -m muster.examples.digits --epochs 1) > "$work/said" 2>&1 ||
  fail "$(cat "$work/said")"
grep -q '^\[0\] final loss=1.2018' "$work/said" || fail "its loss is another: $(cat "$work/said")"

"$work/venv/bin/pip" uninstall --quiet --yes --disable-pip-version-check muster
[[ -z $(find "$work/venv" -name '*muster*') ]] || fail "this is left: $(find "$work/venv" -name '*muster*')"
