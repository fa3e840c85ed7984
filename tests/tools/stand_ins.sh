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
