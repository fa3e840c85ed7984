#!/bin/bash
# Tests that the elastic loop of docs/recover.md does what the page says: a killed rank is
# restarted, and the job goes on.
set -euo pipefail

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

export MUSTER_MUSTERD=$PWD/server/musterd
said=$(client/cli/muster run --nproc-per-node 3 --max-restarts 1 -- tests/docs/elastic_loop die 2>&1) || fail "status $?: $said"
[[ $(grep -cE '^\[[0-2]\] rank [0-2] has left$' <<< "$said") == 3 ]] || fail "not every rank has left: $said"
[[ $(grep -cE '^\[[02]\] epoch [0-9]+ is over: .*rank 1 ' <<< "$said") == 2 ]] || fail "the survivors do not name rank 1: $said"

status=0
said=$(client/cli/muster run --nproc-per-node 3 -- tests/docs/elastic_loop die 2>&1) || status=$?
[[ $status == 137 ]] || fail "a job that is not elastic ends with status $status: $said"
