#!/bin/bash
# Checks that tests/bench:store runs, and that its JSON has all measurements: of the SDK, and of
# PyTorch's clients where tools/peers has been. Checks no time.
set -euo pipefail

peers=../torch_peer/installed   # tests have no variables of the shell that runs them
if [[ -e $peers ]]; then
  MUSTER_PEERS_HOME=$(dirname "$(readlink -f "$peers")")
  export MUSTER_PEERS_HOME
fi
json=$TEST_TMPDIR/store.json
"$1" --ranks 2 --joins 1 --rounds 2 --round-ms 1 --json "$json"
/usr/bin/python3 - "$json" <<'PYTHON'
import json, sys

race = json.load(open(sys.argv[1]))
sides = {"store"} | ({"endpoint", "endpoints", "tcpstore"} if "torch" in race["peers"] else set())
operations = [comparison["operation"] for comparison in race["comparisons"]]
assert operations[0] == "join" and len(operations) == 8, operations
for comparison in race["comparisons"]:
    assert set(comparison["sides"]) == sides, comparison
    for samples in comparison["sides"].values():
        rounds = 1 if comparison["operation"] == "join" else 2
        assert len(samples["wall_us"]) == rounds and min(samples["wall_us"]) > 0, comparison
PYTHON
