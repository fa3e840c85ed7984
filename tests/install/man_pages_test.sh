#!/bin/bash
# Tests that musterd, muster and each of its commands have a man page with all of its sections.
set -euo pipefail

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

mkdir "$TEST_TMPDIR/bin"
ln -s "$PWD/client/cli/muster" "$PWD/server/musterd" "$TEST_TMPDIR/bin"
tools/man-pages --bin "$TEST_TMPDIR/bin" --out "$TEST_TMPDIR/man" || fail "the pages cannot be made"

# Commands without a page explain themselves.
commands=$(client/cli/muster --help | sed -nE '/^Subcommands:/,/^See/s/^  ([a-z]+) .*/\1/p' | grep -vxE 'help|version')
[[ $(wc -l <<< "$commands") -ge 7 ]] || fail "muster --help lists '$commands'"
pages=(man1/muster.1 man8/musterd.8)
for command in $commands; do pages+=("man1/muster-$command.1"); done
made=$(cd "$TEST_TMPDIR/man" && find . -type f | wc -l)
[[ $made == "${#pages[@]}" ]] || fail "there are $made pages, and ${#pages[@]} commands"

for page in "${pages[@]}"; do
  echo "== $page"
  name=$(basename "${page%.*}")
  text=$(zcat "$TEST_TMPDIR/man/$page.gz") || fail "there is no $page"
  grep -q "^\.TH ${name^^} \"${page##*.}\"" <<< "$text" || fail "its title is $(grep '^\.TH' <<< "$text")"
  grep -q "^$name \\\\- [a-z]" <<< "$text" || fail "its name is $(grep -A1 '^\.SH NAME' <<< "$text")"
  for section in NAME SYNOPSIS DESCRIPTION EXAMPLES '"EXIT STATUS"' ENVIRONMENT '"SEE ALSO"'; do
    [[ $(grep -c "^\.SH $section\$" <<< "$text") == 1 ]] || fail "it has no section $section, or two"
    [[ -n $(sed "0,/^\.SH $section\$/d; /^\.SH/,\$d" <<< "$text") ]] || fail "its section $section is empty"
  done
  ! grep -E '^(Exit status|For example|Examples):' <<< "$text" || fail "this stands outside of its section"
  while read -r variable; do
    grep -q "\"$variable\"" common/process/known_variables.cc || fail "it names $variable, which is no variable"
  done < <(grep -oE 'MUSTER_[A-Z_]+[A-Z]' <<< "$text")
done

status=0
said=$(tools/man-pages --frobnicate 2>&1) || status=$?
[[ $status == 64 && $said == *"cannot make sense of '--frobnicate'"* ]] || fail "a wrong flag: status $status, '$said'"
