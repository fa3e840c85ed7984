#!/bin/bash
# Checks that tests/bench:observe runs, and prints a row for each figure. Checks no time.
set -euo pipefail

rows=$("$1" --ranks 2 --rounds 2 --barriers 3 | tee /dev/stderr | grep -c '^| 2 ranks, .* | [0-9.]* | [0-9.]* | [0-9.]* |$')
[ "$rows" = 4 ] || { echo "observe_test: $rows rows of 4" >&2; exit 1; }
