# shellcheck shell=bash
# shellcheck disable=SC2154  # the test sets $root
# What the tests of scripts share. They set $root, below which the made-up system is, and write what the
# script says to $root/output.

fail() {
  echo "FAILED: $*" >&2
  echo "--- output:" >&2 && cat "$root/output" >&2
  exit 1
}

# make_command NAME: a command in $root/bin that does what standard input says. NAME may be a whole path.
make_command() {
  local path=$1
  [[ $path == /* ]] || path=$root/bin/$path
  mkdir -p "$(dirname "$path")"
  { echo '#!/bin/bash'; cat; } > "$path"
  chmod +x "$path"
}

# make_python: Python, but for pip, which copies what is in $root/site to where --target says. It notes
# its calls in $root/calls, and fails where there is a file $root/no-network.
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
