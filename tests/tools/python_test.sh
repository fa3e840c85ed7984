#!/bin/bash
# Runs a Python test with Debian's Python, which has the packages that Muster's tools use.
exec /usr/bin/python3 "$@"
