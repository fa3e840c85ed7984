#!/bin/bash
# wheel.sh WHEEL: installs the wheel of tools/wheel by pip, without an index, in an environment that has
# nothing else, and runs ranks by the wheel's own muster. tools/test-dist calls it.
set -euo pipefail

wheel=$(realpath "$1")
. "$(dirname "$0")/expect.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# in_environment COMMAND...: without this machine's variables.
in_environment() { env -i HOME="$work" LANG=C.UTF-8 PATH="$work/venv/bin:/usr/bin:/bin" "$@"; }

echo "== pip installs it"
/usr/bin/python3 -m venv "$work/venv"
in_environment pip install --quiet --no-index --disable-pip-version-check "$wheel"
[[ $(in_environment sh -c 'command -v muster') == "$work/venv/bin/muster" ]] || fail "there is no muster in the environment"

echo "== the ranks reach their first barrier, and sum numbers"
cat > rank.py <<'END'
import array

import muster

with muster.join() as job:
    job.barrier("first")
    numbers = array.array("i", [job.rank + 1])
    with job.communicator() as ranks:
        ranks.all_reduce(numbers)
    print(f"rank {job.rank} of {job.world_size}: {numbers[0]} apples")
END
expect 'of 2: 3 apples' in_environment muster run --nproc-per-node 2 -- python rank.py
echo "The wheel works."
