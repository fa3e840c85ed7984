#!/bin/bash
# Stands in for compute-sanitizer on machines without a GPU. Runs the program that follows its
# options.
set -euo pipefail
while [[ ${1:-} == --* ]]; do
  case $1 in
    --tool | --report-api-errors | --error-exitcode) shift 2 ;;
    *) echo "fake_sanitizer: unknown option $1" >&2; exit 2 ;;
  esac
done
exec "$@"
