#!/bin/bash
# Tests the jobs of tools/test-compat with this tree as both versions, and that a job that goes wrong
# is noticed.
set -euo pipefail

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

version=$TEST_TMPDIR/version
mkdir -p "$version/bin"
ln -s "$PWD/server/musterd" "$PWD/client/cli/muster" "$version/bin"
rank=$PWD/tests/compat/rank

# run_job RANK ARGUMENT...
run_job() {
  /usr/bin/python3 tests/compat/job.py --daemon "$version" --launcher "$version" --rank "$1" "${@:2}" > "$TEST_TMPDIR/output" 2>&1
}

# expect_failure TEXT ARGUMENT...
expect_failure() {
  ! run_job "${@:2}" || fail "the job '${*:2}' is taken for a good one"
  grep -q -- "$1" "$TEST_TMPDIR/output" || fail "'$1' is not in: $(cat "$TEST_TMPDIR/output")"
}

run_job "$rank" everything || fail "$(cat "$TEST_TMPDIR/output")"
run_job "$rank" loss || fail "$(cat "$TEST_TMPDIR/output")"
run_job "$rank" --next-daemon "$version" steps || fail "$(cat "$TEST_TMPDIR/output")"

# make_rank SCRIPT: a rank that goes wrong.
make_rank() { printf '#!/bin/bash\n%s\n' "$1" > "$TEST_TMPDIR/wrong" && chmod +x "$TEST_TMPDIR/wrong"; }

make_rank "exec $rank loss"
expect_failure 'node[01] ended with status' "$TEST_TMPDIR/wrong" everything
make_rank "exec $rank everything"
expect_failure '0 of 3 ranks were told of rank 1' "$TEST_TMPDIR/wrong" loss
expect_failure "node0 has not written 'step" "$TEST_TMPDIR/wrong" --next-daemon "$version" steps
