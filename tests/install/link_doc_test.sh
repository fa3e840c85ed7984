#!/bin/bash
# Tests that docs/link.md, docs/ffi.md and docs/abi.md show the tested programs word for word.
set -euo pipefail

shown=0
for page in docs/link.md docs/ffi.md docs/abi.md; do
  while read -r file; do
    diff <(sed -n "\\|^<!-- $file -->\$|,/^\`\`\`\$/p" "$page" | sed '1,2d;$d') "tests/install/$file" || {
      echo "FAILED: $page shows another $file than tests/install/$file" >&2
      exit 1
    }
    shown=$((shown + 1))
  done < <(sed -nE 's/^<!-- (.*) -->$/\1/p' "$page")
done
((shown >= 8)) || { echo "FAILED: the pages show $shown files" >&2; exit 1; }
