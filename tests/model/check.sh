#!/bin/bash
# check.sh holds|fails MODEL [NAME=VALUE]...: compiles the model with these defines and lets SPIN visit every state.
# `holds` succeeds if no assertion fails in any state, and no state was left out. `fails` succeeds if one fails.
set -euo pipefail

expected=$1
model=$(readlink -f "$2")
shift 2

for program in spin gcc; do
  [[ -x $(command -v "$program") ]] || { echo "$program is missing: tools/install-deps installs it" >&2; exit 1; }
done

scratch=$(mktemp -d -p "${TEST_TMPDIR:-/tmp}")
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
cp "$(dirname "$model")"/*.pml .
spin -a "${@/#/-D}" "$(basename "$model")"

# SAFETY: cycles do not matter. NOREDUCE: no two steps are independent. COLLAPSE halves the memory. SPIN's code warns a
# lot. One warning is an error: a variable of the model that is called t is taken for the pointer t in that code.
gcc -O1 -Werror=int-conversion -DSAFETY -DNOREDUCE -DCOLLAPSE -DMEMLIM="${MUSTER_MODEL_MIB:-6000}" -o pan pan.c 2> warnings ||
  { cat warnings >&2; exit 1; }
status=0
./pan -m100000 -w"${MUSTER_MODEL_HASH_BITS:-22}" > outcome || status=$?
cat outcome

if ((status != 0)) || grep -qE 'max search depth too small|Search not completed|out of memory' outcome; then
  complete=false
else
  complete=true
fi
case $expected in
  holds)
    if ! $complete || ! grep -q 'errors: 0$' outcome; then
      spin -t -p -g "${@/#/-D}" "$(basename "$model")" | grep -v '^spin:' | tail -n 400 || true
      echo "this must hold, and does not, or not all states were looked at" >&2
      exit 1
    fi
    ;;
  fails)
    if ! grep -q 'assertion violated' outcome || grep -q 'assertion violated (on_way<' outcome; then
      echo "a rule is broken, and the model does not notice" >&2
      exit 1
    fi
    ;;
  *)
    echo "check.sh holds|fails MODEL [NAME=VALUE]..., not '$expected'" >&2
    exit 2
    ;;
esac
