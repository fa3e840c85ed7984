#!/bin/bash
# Runs tools/peers with a stand-in for pip that installs made-up packages.
set -euo pipefail

peers=$PWD/$1
root=$TEST_TMPDIR
home=$root/data/muster/peers

. tests/tools/fake_commands.sh

# Makes the files of the wheels that the tool looks at.
make_site() {
  rm -rf "$root/site" "$root/data"
  mkdir -p "$root/site/torch" "$root/site/jaxlib"
  touch "$root/site/torch/__init__.py" "$root/site/torch/_dynamo.py" "$root/site/jaxlib/__init__.py"
  echo "class TCPStore: pass" > "$root/site/torch/distributed.py"
  echo "def get_distributed_runtime_client(): pass" > "$root/site/jaxlib/_jax.py"
}

make_python

# The wheels need more room than a test may have.
make_command df <<'EOF'
echo Avail
echo 100000000
EOF

run() {
  status=0
  : > "$root/calls"
  env PATH="$root/bin:$PATH" PYTHON="$root/bin/python" XDG_DATA_HOME="$root/data" "$peers" "$@" \
    > "$root/output" 2>&1 || status=$?
}

expect() { [[ $status == "$1" ]] || fail "status $status, expected $1"; }

make_site
if [[ $(uname -m) != x86_64 ]]; then
  run
  expect 1
  grep -q "this is $(uname -m)" "$root/output" || fail "does not say why"
  exit 0
fi

echo "== brings both, and says where they are"
run
expect 0
[[ -d $home/python/torch && -d $home/python/jaxlib ]] || fail "not both are there"
grep -q "^peers: installed PyTorch and JAX in $home" "$root/output" || fail "does not say where"

echo "== again: downloads nothing"
run
expect 0
[[ ! -s $root/calls ]] || fail "it has downloaded them again"
grep -q "^peers: found" "$root/output" || fail "does not say that they are there"

echo "== without network: says what to do, and installs nothing"
rm -rf "$root/data" && touch "$root/no-network"
run
expect 1
grep -q "^peers: .*" "$root/output" && grep -q PIP_FIND_LINKS "$root/output" || fail "does not say what to do"
[[ ! -e $home ]] || fail "something was installed"
rm "$root/no-network"

echo "== wheels that do not load are not installed"
make_site
echo "raise ImportError('libcudart.so.12: cannot open')" > "$root/site/torch/distributed.py"
run
expect 1
[[ ! -e $home ]] || fail "something was installed"

echo "== arguments"
run --help
expect 0
run --nonsense
expect 2
