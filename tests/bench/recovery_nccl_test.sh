#!/bin/bash
# Checks that the benchmark runs, and prints every row.
set -euo pipefail
output=$("$1" --ranks 2 --rounds 1)
for row in "SHM  loss to the last" "NET  loss to the last" "first all-reduce" "1 id: Create" "2 ids: Create"; do
  grep -qF "$row" <<< "$output" || { echo "no row '$row' in:"; echo "$output"; exit 1; }
done
