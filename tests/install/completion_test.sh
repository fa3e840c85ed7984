#!/bin/bash
# Tests that bash and zsh complete every flag of every help text.
set -euo pipefail

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

flags_of() { "$@" --help | grep -oE '^ +(-h, ?)?--[a-z0-9-]+' | grep -oE -- '--[a-z0-9-]+' | sort -u; }

# complete WORD...: prints what bash offers for the last word, one a line.
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

complete() { :; }   # the scripts call it in an interactive shell
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
for command in run status debug health replay token completion help version; do expect_flags client/cli/muster muster "$command"; done
expect_flags server/musterd musterd

commands=$(complete_words muster "" | grep -v ^-)
[[ $commands == $'run\nstatus\ndebug\nhealth\nreplay\ntoken\ncompletion\nhelp\nversion' ]] || fail "the commands are '$commands'"
touch "$TEST_TMPDIR/file"
[[ $(complete_words muster run --token-file "$TEST_TMPDIR/fi") == "$TEST_TMPDIR/file" ]] || fail "files are not completed"

# expect_words WORDS MUSTER...: expects that these words are offered, in any order.
expect_words() {
  local offered
  offered=$(complete_words "${@:2}" | LC_ALL=C sort | xargs)
  [[ $offered == "$1" ]] || fail "'${*:2}' is completed by '$offered', not '$1'"
}

echo "== values"
expect_words "auto cpu gpu" muster run --nproc-per-node ""
expect_words "cpu" muster run --nproc-per-node c
expect_words "auto" muster run --nproc-per-node = a
expect_words "auto cpu gpu" muster run --nproc-per-node =
expect_words "health help" muster help he
expect_words "--help bash zsh" muster completion ""
grep -q "'--nproc-per-node\[.*:N:(gpu cpu auto)'" "$TEST_TMPDIR/_muster" || fail "zsh is not told the values"

echo "== the names of this user's jobs, whatever they are"
export MUSTER_RUNTIME_DIR=$TEST_TMPDIR/runtime PATH=$PWD/client/cli:$PATH
expect_words "" muster status --job ""
# shellcheck disable=SC2016
for job in 'digits' '$(touch expanded) `touch expanded`'; do
  server/musterd --listen 127.0.0.1:0 --port-file "$TEST_TMPDIR/port" --job "$job" 2> "$TEST_TMPDIR/musterd.log" &
  until [[ -s $TEST_TMPDIR/port ]]; do kill -0 $! || fail "$(cat "$TEST_TMPDIR/musterd.log")"; sleep 0.1; done
  for command in status debug; do
    offered=$(complete_words muster $command --job "")
    [[ $offered == "$job" ]] || fail "the jobs that $command offers are '$offered'"
  done
  expect_words "" muster status --job x
  kill $!
  wait $!
done
[[ ! -e expanded ]] || fail "the name of a job is executed"

echo "== programs, each once, with -- or without"
mkdir "$TEST_TMPDIR"/{a,b}
touch "$TEST_TMPDIR"/{a,b}/one-program
chmod +x "$TEST_TMPDIR"/{a,b}/one-program
PATH=$TEST_TMPDIR/a:$TEST_TMPDIR/b:$PATH
expect_words one-program muster run -- one-pro
expect_words one-program muster run --nproc-per-node 2 -- one-pro
expect_words one-program muster run --nproc-per-node = 2 --no-prefix one-pro
expect_words "$TEST_TMPDIR/file" muster run --job a cat "$TEST_TMPDIR/fi"

echo "== nothing where nothing is known"
[[ -z $(complete_words muster run --nnodes "") ]] || fail "something is offered for a number"
status=0
said=$(client/cli/muster completion fish 2>&1) || status=$?
[[ $status == 64 && $said == *"for bash and zsh, not for 'fish'"* ]] || fail "another shell: status $status, '$said'"
