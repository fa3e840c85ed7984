# shellcheck shell=bash
# Sourced by the scripts beside it that tools/test-fresh runs.

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

# expect TEXT COMMAND...: two lines of what the command writes have the text.
expect() {
  local said
  said=$("${@:2}" 2>&1) || fail "'${*:2}' ends with status $?: $said"
  [[ $(grep -c -- "$1" <<< "$said") == 2 ]] || fail "'${*:2}' says: $said"
}
