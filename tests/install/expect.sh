# shellcheck shell=bash
# Sourced by scripts in this folder that tools/test-fresh runs.

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

# expect TEXT COMMAND...: expects that two lines of the command's output contain TEXT.
expect() {
  local said
  said=$("${@:2}" 2>&1) || fail "'${*:2}' ends with status $?: $said"
  [[ $(grep -c -- "$1" <<< "$said") == 2 ]] || fail "'${*:2}' says: $said"
}
