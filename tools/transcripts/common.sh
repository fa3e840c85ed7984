# Sourced by the scripts beside it, which run jobs of real processes on this machine: a folder to work in, processes
# that end with the script, and waiting. A script defines usage() first.
# shellcheck shell=bash
# shellcheck disable=SC2034  # the scripts use the variables

name=$(basename "$0")
bin=bazel-bin
work=$(mktemp -d)
started=()   # processes to end with the script
stopped=()   # those that only SIGKILL ends

clean_up() {
  kill -9 "${stopped[@]}" 2> /dev/null || true
  kill "${started[@]}" 2> /dev/null || true
  wait
  rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

fail() {
  echo "$name: $*" >&2
  tail -n 20 "$work"/*.log >&2
  exit 1
}

# read_arguments [VARIABLE...] -- ARGUMENT...: --bin, --help, and an option for each of the variables. Then goes to the
# top of the tree.
read_arguments() {
  local options=" bin "
  while [[ $1 != -- ]]; do options+="$1 "; shift; done
  shift
  while (($# > 0)); do
    case $1 in
      --help | -h) usage; exit 0 ;;
    esac
    if [[ $1 != --* || $options != *" ${1#--} "* || $# == 1 ]]; then
      echo "$name: cannot make sense of '$*'" >&2
      usage >&2
      exit 64
    fi
    printf -v "${1#--}" '%s' "$(realpath -m "$2")"
    shift 2
  done
  cd "$(dirname "$(readlink -f "$0")")/../.." || exit
  bin=$(realpath -m "$bin")
}

# await COMMAND...: until it succeeds, for at most three minutes, since machines may be busy.
await() {
  local end=$((SECONDS + 180))
  until "$@" > /dev/null 2>&1; do
    ((SECONDS < end)) || fail "'$*' has not come true in three minutes"
    sleep 0.1
  done
}

muster() { "$bin/client/cli/muster" "$@"; }
status() { muster status --coordinator "$coordinator"; }

# start_coordinator FLAG...: of the job "train", which `coordinator` names then.
start_coordinator() {
  "$bin/server/musterd" --listen 127.0.0.1:0 --port-file "$work/port" --job train "$@" 2> "$work/musterd.log" &
  started+=($!)
  await test -s "$work/port"
  coordinator=127.0.0.1:$(< "$work/port")
}
