#!/bin/bash
# Every test that README.md names in "What happens when..." is there, and every suite is named there.
set -euo pipefail

fail() { echo "FAILED: $*" >&2; exit 1; }

named=$(sed -n '/^## What happens when/,/^## /s/.*| `\([A-Za-z0-9]*\.[A-Za-z0-9]*\)` |$/\1/p' README.md)
written=$(tr -d '\n' <<<"$(cat tests/fault/*_test.cc)" |
  grep -o 'TEST\(_[FP]\)\?([A-Za-z0-9]*, *[A-Za-z0-9]*)' | sed 's/.*(\(.*\), *\(.*\))/\1.\2/')
[[ $(wc -l <<<"$named") -gt 30 ]] || fail "README.md names only: $named"
for test in $named; do
  grep -qx "$test" <<<"$written" || fail "README.md names $test, which is not in tests/fault"
done
# shellcheck disable=SC2013  # names of suites have no spaces
for suite in $(cut -d. -f1 <<<"$written" | sort -u); do
  grep -q "^$suite\." <<<"$named" || fail "README.md names no test of $suite"
done
