#!/bin/bash
# The program in README.md is examples/hello/hello.cc, word for word, and runs on four ranks and alone.
set -euo pipefail

fail() { echo "FAILED: $*" >&2; exit 1; }

shown=$(sed -n '/^<!-- hello.cc -->$/,/^```$/p' README.md | sed '1,2d;$d')
diff <(echo "$shown") examples/hello/hello.cc || fail "README.md shows another program than examples/hello/hello.cc"

launched=$(client/cli/muster run --musterd server/musterd --nproc-per-node 4 -- examples/hello/hello)
[[ $(grep -c 'of 4 on node rank 0: average 1.5' <<<"$launched") == 4 ]] || fail "on four ranks: $launched"
alone=$(env -u MUSTER_COORDINATOR examples/hello/hello)
[[ $alone == "rank 0 of 1 on node rank 0: average 0" ]] || fail "alone: $alone"
