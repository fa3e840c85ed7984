#!/bin/bash
# Checks that tests/bench:startup runs, and that its JSON has all measurements: of Muster, of Open MPI where Debian's
# packages are, and of PyTorch where tools/peers has been. Checks no time.
set -euo pipefail

peers=../torch_peer/installed   # tests have no variables of the shell that runs them
if [[ -e $peers ]]; then
  MUSTER_PEERS_HOME=$(dirname "$(readlink -f "$peers")")
  export MUSTER_PEERS_HOME
fi
export HOME=${HOME:-$TEST_TMPDIR}   # Open MPI 5 does not run without
json=$TEST_TMPDIR/startup.json
"$1" --ranks 2 --rounds 1 --json "$json"
/usr/bin/python3 - "$json" <<'PYTHON'
import json, shutil, sys

starts = json.load(open(sys.argv[1]))
sides = {"gloo", "nccl"}
if shutil.which("mpicc.openmpi") and shutil.which("mpirun.openmpi"):
    sides |= {"mpirun", "muster_mpi"}
if starts["torch"]:
    sides |= {"torchrun", "muster_torch"}
(comparison,) = starts["comparisons"]
assert comparison["ranks"] == 2 and set(comparison["sides"]) == sides, comparison
for side in comparison["sides"].values():
    assert len(side) == 5, side
    for name, values in side.items():
        assert len(values) == 1 and values[0] >= 0, (name, values)
PYTHON
