#!/bin/bash
# Checks that tests/bench:control_plane runs, that its JSON has all measurements, that
# barrier_chart.py draws them, and that its processes have fixed addresses where the machine lets them. Checks no time.
set -euo pipefail

json=$TEST_TMPDIR/control_plane.json
svg=$TEST_TMPDIR/control_plane.svg
short=(--ranks 2 --joins 1 --rounds 2 --round-ms 1 --without-peers --json "$json")

"$1" "${short[@]}"
/usr/bin/python3 "$2" "$json" > "$svg"
/usr/bin/python3 - "$json" "$svg" <<'PYTHON'
import json, sys
import xml.etree.ElementTree as xml

comparisons = json.load(open(sys.argv[1]))["comparisons"]
operations = [comparison["operation"] for comparison in comparisons]
assert operations[0] == "join" and len(operations) == 6, operations
for comparison in comparisons:
    assert set(comparison["sides"]) == {"muster", "muster_by_daemon", "muster_apart", "bare"}, comparison
    for side, samples in comparison["sides"].items():
        rounds = 1 if comparison["operation"] == "join" else 2
        for figure in ("wall_us", "client_cpu_us", "service_cpu_us"):
            assert len(samples[figure]) == rounds, comparison
            # A daemon that hears of collectives later may use no time in a short round.
            idle = side == "muster" and figure == "service_cpu_us"
            assert min(samples[figure]) >= 0 if idle else min(samples[figure]) > 0, comparison
lines = xml.parse(sys.argv[2]).getroot().findall("{http://www.w3.org/2000/svg}polyline")
assert len(lines) == 8, f"{len(lines)} lines for two panels of four sides"
PYTHON

fixed=false
if setarch --addr-no-randomize true; then fixed=true; fi
grep -q "\"fixed_addresses\": $fixed" "$json" || { echo "not with fixed addresses" >&2; exit 1; }
"$1" "${short[@]}" --random-addresses
grep -q '"fixed_addresses": false' "$json" || { echo "not with random addresses" >&2; exit 1; }
