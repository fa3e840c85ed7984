#!/bin/bash
# Tests the packages that tools/deb makes of what Bazel has built: their files and dependencies, and
# ranks in Python that run from the unpacked files. tools/test-fresh --packages installs them.
set -euo pipefail

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

work=$(realpath "$TEST_TMPDIR")
export HOME=$work PYTHONDONTWRITEBYTECODE=1 DPKG_DEB_COMPRESSOR_TYPE=none SOURCE_DATE_EPOCH=1700000000
unset LD_LIBRARY_PATH PYTHONPATH MUSTER_COORDINATOR
tools/deb --built "$PWD" --out "$work/out" > "$work/said" 2>&1 || fail "$(cat "$work/said")"
version=$(sed -nE 's/^#define MUSTER_VERSION "(.*)"/\1/p' client/include/muster/version.h)

echo "== there are four, and the output names them"
for package in muster libmuster0 libmuster-dev python3-muster; do
  path=$(echo "$work/out/${package}_$version"-*.deb)
  [[ -s $path ]] || fail "there is no $package: $(ls "$work/out")"
  grep -q "$path" "$work/said" || fail "it does not name $path: $(cat "$work/said")"
  dpkg-deb -x "$path" "$work/root"
done
python=$(echo "$work"/out/python3-muster_*_all.deb)

echo "== python3-muster needs the library of its own version"
depends=$(dpkg-deb -f "$python" Depends)
[[ $depends == *"libmuster0 (= $(dpkg-deb -f "$python" Version))"* ]] || fail "it depends on $depends"
for script in postinst prerm; do
  dpkg-deb -I "$python" "$script" > /dev/null || fail "it has no $script"
done

echo "== it has the whole package, and nothing of another one"
packages=usr/lib/python3/dist-packages
(cd client/python && find -L muster -name '*.py' | sort) > "$work/expected"
(cd "$work/root/$packages" && find muster -name '*.py' | sort) > "$work/found"
cmp "$work/expected" "$work/found" || fail "its modules are others: $(diff "$work/expected" "$work/found")"
foreign=$(dpkg-deb --fsys-tarfile "$python" | tar -t | grep -E '[^/]$' | grep -vE '^\./usr/(lib/python3/dist-packages|share/doc/python3-muster)/' || true)
[[ -z $foreign ]] || fail "it has $foreign, too"

echo "== ranks run from the unpacked files"
library=$(dirname "$(find "$work/root/usr/lib" -name libmuster.so.0)")
export LD_LIBRARY_PATH=$library PYTHONPATH=$work/root/$packages PATH=$work/root/usr/bin:$PATH
timeout 60 muster run --nproc-per-node 2 -- "${MUSTER_TEST_PYTHON:-/usr/bin/python3}" -c '
import importlib.metadata, muster
assert importlib.metadata.version("muster") == muster.__version__
with muster.join() as job:
    print(f"rank {job.rank}: {job.all_reduce(job.rank + 1)} apples")' > "$work/said" 2>&1 || fail "$(cat "$work/said")"
grep -q '^\[1\] rank 1: 3 apples' "$work/said" || fail "it says $(cat "$work/said")"
