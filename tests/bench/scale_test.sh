#!/bin/bash
# Checks that tests/bench:scale runs, and that scale_chart.py draws its results. Checks no time.
set -euo pipefail

json=$TEST_TMPDIR/scale.json
"$1" --members 64 128 --rounds 1 --json "$json"
/usr/bin/python3 "$2" "$json" > "$TEST_TMPDIR/scale.svg"
/usr/bin/python3 - "$json" "$TEST_TMPDIR/scale.svg" <<'PYTHON'
import json, sys
import xml.etree.ElementTree as xml

sizes = json.load(open(sys.argv[1]))["sizes"]
assert [size["members"] for size in sizes] == [64, 128], sizes
for size in sizes:
    assert len(size["steps"]) == 8, size
    for step in size["steps"].values():
        assert step["wall_ms"] > 0 and step["daemon_cpu_us_per_member"] > 0, size
lines = xml.parse(sys.argv[2]).getroot().findall("{http://www.w3.org/2000/svg}polyline")
assert len(lines) == 16, len(lines)
PYTHON
