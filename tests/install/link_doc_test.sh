#!/bin/bash
# docs/link.md shows the programs that are tested here, word for word.
set -euo pipefail

shown=0
while read -r file; do
  diff <(sed -n "\\|^<!-- $file -->\$|,/^\`\`\`\$/p" docs/link.md | sed '1,2d;$d') "tests/install/$file" || {
    echo "FAILED: docs/link.md shows another $file than tests/install/$file" >&2
    exit 1
  }
  shown=$((shown + 1))
done < <(sed -nE 's/^<!-- (.*) -->$/\1/p' docs/link.md)
((shown >= 6)) || { echo "FAILED: docs/link.md shows $shown files" >&2; exit 1; }
