# shellcheck shell=bash
# shellcheck disable=SC2154  # the test sets $root
# Functions for tests of scripts, which source this file. A test sets $root, below which the made-up
# system is. It writes the script's output to $root/output.

fail() {
  echo "FAILED: $*" >&2
  echo "--- output:" >&2 && cat "$root/output" >&2
  exit 1
}

# make_command NAME: makes a command in $root/bin from the script on standard input. NAME may be a
# whole path.
make_command() {
  local path=$1
  [[ $path == /* ]] || path=$root/bin/$path
  mkdir -p "$(dirname "$path")"
  { echo '#!/bin/bash'; cat; } > "$path"
  chmod +x "$path"
}

# make_python: makes a Python whose pip copies the files in $root/site to the folder of --target. It
# notes its calls in $root/calls, and fails if the file $root/no-network exists.
make_python() {
  make_command python <<EOF
if [[ "\$*" == *"pip install"* ]]; then
  echo "pip" >> '$root/calls'
  [[ "\$*" == *--require-hashes* ]] || exit 1
  [[ ! -e '$root/no-network' ]] || exit 1
  cp -r '$root/site' "\${@: -1}"
elif [[ "\$*" != *"pip --version"* ]]; then
  exec /usr/bin/python3 "\$@"
fi
EOF
}
