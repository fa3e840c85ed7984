#!/bin/bash
# Every flag of every help text is completed, in bash and in zsh.
set -euo pipefail

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

flags_of() { "$@" --help | grep -oE '^ +(-h, ?)?--[a-z0-9-]+' | grep -oE -- '--[a-z0-9-]+' | sort -u; }

# complete WORD...: what bash offers in the place of the last word, one a line.
complete_words() {
  COMP_WORDS=("$@")
  COMP_CWORD=$(($# - 1))
  COMPREPLY=()
  "_$1"
  printf '%s\n' "${COMPREPLY[@]}"
}

# expect_flags PROGRAM NAME [COMMAND]
expect_flags() {
  local flags missing
  flags=$(flags_of "$1" ${3:+"$3"})
  [[ $(wc -l <<< "$flags") -ge 1 && -n $flags ]] || fail "no flags found in the help of $2 ${3:-}"
  missing=$(comm -23 <(echo "$flags") <(complete_words "$2" ${3:+"$3"} -- | sort -u))
  [[ -z $missing ]] || fail "bash does not complete these of $2 ${3:-}: $(xargs <<< "$missing")"
  missing=$(comm -23 <(echo "$flags") <(grep -oE -- "^ +'--[a-z0-9-]+" "$TEST_TMPDIR/_$2" | grep -oE -- '--[a-z0-9-]+' | sort -u))
  [[ -z $missing ]] || fail "zsh does not complete these of $2 ${3:-}: $(xargs <<< "$missing")"
}

complete() { :; }   # what the scripts call in an interactive shell
client/cli/muster completion bash > "$TEST_TMPDIR/muster"
client/cli/muster completion zsh > "$TEST_TMPDIR/_muster"
server/musterd --completion bash > "$TEST_TMPDIR/musterd"
server/musterd --completion zsh > "$TEST_TMPDIR/_musterd"
# shellcheck disable=SC1091  # written just now
. "$TEST_TMPDIR/muster"
# shellcheck disable=SC1091
. "$TEST_TMPDIR/musterd"
! command -v zsh > /dev/null || zsh -n "$TEST_TMPDIR/_muster" "$TEST_TMPDIR/_musterd" || fail "zsh cannot read its script"

expect_flags client/cli/muster muster
for command in run status debug health replay token; do expect_flags client/cli/muster muster "$command"; done
expect_flags server/musterd musterd

commands=$(complete_words muster "" | grep -v ^-)
[[ $commands == $'run\nstatus\ndebug\nhealth\nreplay\ntoken\ncompletion' ]] || fail "the commands are '$commands'"
touch "$TEST_TMPDIR/file"
[[ $(complete_words muster run --token-file "$TEST_TMPDIR/fi") == "$TEST_TMPDIR/file" ]] || fail "files are not completed"
[[ -z $(complete_words muster run --nnodes "") ]] || fail "something is offered for a number"
status=0
said=$(client/cli/muster completion fish 2>&1) || status=$?
[[ $status == 64 && $said == *"for bash and zsh, not for 'fish'"* ]] || fail "another shell: status $status, '$said'"
