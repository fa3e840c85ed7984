#!/bin/bash
# Runs two Python clients in one job of a real musterd.
set -euo pipefail

musterd=$1
client=$2

fail() {
  echo "FAILED: $*" >&2
  tail -n +1 "$TEST_TMPDIR"/*.log >&2
  exit 1
}

head -c 32 /dev/urandom | base64 > "$TEST_TMPDIR/token"
"$musterd" --listen 127.0.0.1:0 --port-file "$TEST_TMPDIR/port" --job greetings --world-size 2 \
  --token-file "$TEST_TMPDIR/token" --exit-when-done > "$TEST_TMPDIR/musterd.log" 2>&1 &
daemon=$!
trap 'kill -KILL $daemon 2>/dev/null || true' EXIT
until [[ -s $TEST_TMPDIR/port ]]; do
  kill -0 $daemon || fail "musterd has ended"
  sleep 0.05
done
address=127.0.0.1:$(cat "$TEST_TMPDIR/port")

echo "== a client without the token is refused"
! "$client" --coordinator "$address" --job greetings > "$TEST_TMPDIR/stranger.log" 2>&1 || fail "it was let in"
grep -q "python_client: UNAUTHENTICATED: .*token file" "$TEST_TMPDIR/stranger.log" ||
  fail "the refusal does not say what is missing"
export MUSTER_TOKEN_FILE=$TEST_TMPDIR/token

echo "== a client of another job is refused"
! "$client" --coordinator "$address" --job other > "$TEST_TMPDIR/other.log" 2>&1 || fail "it was let in"
grep -q "python_client: NOT_FOUND: .*greetings" "$TEST_TMPDIR/other.log" || fail "the refusal does not name the job"

echo "== two clients join, meet the barrier, read the status and leave"
"$client" --coordinator "$address" --job greetings --node-id left > "$TEST_TMPDIR/left.log" 2>&1 &
left=$!
"$client" --coordinator "$address" --job greetings --node-id right > "$TEST_TMPDIR/right.log" 2>&1 ||
  fail "the client on the right has failed"
wait $left || fail "the client on the left has failed"
wait $daemon || fail "musterd did not see every member leave"

for name in left right; do
  log=$TEST_TMPDIR/$name.log
  for line in "joined as rank [01] of 2" "met the barrier" "job 'greetings': running, world size 2" \
    "rank [01]: node left, .*hello from Python" "rank [01]: node right, .*hello from Python" "left"; do
    grep -q -- "$line" "$log" || fail "$name did not say '$line'"
  done
done
[[ $(grep -ho "as rank [01]" "$TEST_TMPDIR"/{left,right}.log | sort -u | wc -l) == 2 ]] || fail "one rank twice"
