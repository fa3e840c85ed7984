#!/bin/bash
# Checks that tests/bench:nodes and data_plane run on nodes with a network of their own, and that their JSON has all
# measurements. Where the machine allows no network namespaces, checks that they say what is needed. Checks no time,
# except that packets take theirs.
set -euo pipefail

json=$TEST_TMPDIR/nodes.json
nodes=("$1" --nodes 2x2 --joins 1 --rounds 2 --round-ms 1 --without-peers --json "$json")
tensors=("$2" --ranks 2x2 --latency-us 100 --bytes 4096 --rounds 2 --round-ms 1 --json "$TEST_TMPDIR/tensors.json")

refused='run this as root, outside of containers'
if ! "${nodes[@]}" 2> "$TEST_TMPDIR/errors"; then
  cat "$TEST_TMPDIR/errors" >&2
  grep -q "$refused" "$TEST_TMPDIR/errors"
  if "${tensors[@]}" 2> "$TEST_TMPDIR/errors"; then echo "data_plane had a network" >&2; exit 1; fi
  grep -q "$refused" "$TEST_TMPDIR/errors"
  exit 0
fi
"${tensors[@]}"
/usr/bin/python3 - "$json" "$TEST_TMPDIR/tensors.json" <<'PYTHON'
import json, sys

comparisons = json.load(open(sys.argv[1]))["comparisons"]
operations = [comparison["operation"] for comparison in comparisons]
assert operations[0] == "join" and len(operations) == 6, operations
for comparison in comparisons:
    assert (comparison["nodes"], comparison["ranks"]) == (2, 4), comparison
    assert set(comparison["sides"]) == {"muster", "muster_apart", "bare"}, comparison
    # An exchange between the nodes takes two packets at least, of 100 us each. Only a lease is over for a node that
    # has it already.
    if comparison["operation"] in ("barrier", "all-gather of 1 KiB"):
        for samples in comparison["sides"].values():
            assert min(samples["wall_us"]) > 200, comparison
comparisons = json.load(open(sys.argv[2]))["comparisons"]
assert len(comparisons) == 3, comparisons
for comparison in comparisons:
    assert (comparison["nodes"], comparison["ranks"]) == (2, 4), comparison
    assert set(comparison["sides"]) == {"shared", "connections", "gloo"}, comparison
PYTHON
