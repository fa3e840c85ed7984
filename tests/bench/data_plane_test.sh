#!/bin/bash
# Checks that tests/bench:data_plane runs, and that its JSON has all measurements. Checks no time.
# Open MPI takes part if it is installed.
set -euo pipefail

export HOME=${HOME:-$TEST_TMPDIR}   # Open MPI 5, its compiler too, does not run without
json=$TEST_TMPDIR/data_plane.json
"$1" --ranks 2 2x2 --bytes 4096 1048576 --rounds 2 --round-ms 1 --json "$json"
/usr/bin/python3 - "$json" <<'PYTHON'
import json, shutil, sys

expected = {"shared", "connections", "gloo"}
if shutil.which("mpicc") and shutil.which("mpirun"):
    expected.add("open_mpi")
comparisons = json.load(open(sys.argv[1]))["comparisons"]
assert len(comparisons) == 12, comparisons
for comparison in comparisons:
    sides = expected if comparison["nodes"] == 1 else expected - {"open_mpi"}
    assert set(comparison["sides"]) == sides, comparison
    for samples in comparison["sides"].values():
        assert len(samples["wall_us"]) == 2 and min(samples["wall_us"]) > 0, comparison
PYTHON
