#!/bin/bash
# with_python.sh TEST.py...: runs tests of the Python package with the library and programs that
# Bazel has built. MUSTER_TEST_PYTHON may name another interpreter than Debian's.
set -euo pipefail

ln -s "$PWD/client/shared/libmuster.so" "$TEST_TMPDIR/libmuster.so.0"
export LD_LIBRARY_PATH=$TEST_TMPDIR PYTHONPATH=$PWD/client/python:$PWD/tests/client/python PYTHONDONTWRITEBYTECODE=1
export MUSTER_TEST_MUSTER=$PWD/client/cli/muster MUSTER_MUSTERD=$PWD/server/musterd
unset MUSTER_COORDINATOR
exec "${MUSTER_TEST_PYTHON:-/usr/bin/python3}" -X dev -W error::ResourceWarning "$@"
