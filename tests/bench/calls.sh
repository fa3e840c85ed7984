#!/bin/bash
# Counts the instructions of one barrier: in a rank's process (the SDK with all its threads), and in
# musterd for each arrival. Beside them, counts those of a bare gRPC call and of the service that
# parks it. In one half of the runs each rank makes its own calls, as on separate nodes. In the
# other half, the ranks share a node and arrive together. There the counted rank, which is the
# slowest, comes last and makes the call for all. Times are not measured: instructions hardly depend
# on other load. Needs valgrind.
#
#   bazel run //tests/bench:calls                 2 and 8 ranks; a minute
#   bazel run //tests/bench:calls -- 32           other sizes
#   OBSERVED=1 bazel run //tests/bench:calls      musterd serves metrics and writes a journal
#   PROFILES=/tmp/calls bazel run //tests/bench:calls   keeps callgrind's profiles there, for
#                                                 callgrind_annotate --inclusive=yes
set -euo pipefail

BENCH="$(cd "$(dirname "$0")" && pwd)"
WORK="$(mktemp -d)"
readonly BENCH WORK
readonly MUSTERD="$BENCH/../../server/musterd"
readonly PROFILES="${PROFILES:-$WORK}"
readonly OBSERVED="${OBSERVED:-}"
readonly BARRIERS=200
readonly PATIENCE=300  # seconds
trap 'stop_all; rm -rf "$WORK"' EXIT
sizes=("$@")
[ ${#sizes[@]} -gt 0 ] || sizes=(2 8)

fail() { echo "calls: $*" >&2; exit 1; }
command -v valgrind > /dev/null || fail "needs valgrind: apt-get install valgrind"

pids=()
commands=()

stop_all() {
  local fd
  for fd in "${commands[@]}"; do exec {fd}>&-; done
  [ ${#pids[@]} -eq 0 ] || kill -KILL "${pids[@]}" 2> /dev/null || true
  wait
  pids=() commands=()
}

# callgrind OUT ARGUMENT... -- COMMAND...
under_callgrind() {
  local out=$1 options=()
  shift
  while [ "$1" != -- ]; do options+=("$1"); shift; done
  shift
  exec valgrind --tool=callgrind --callgrind-out-file="$out" --log-file="$out.log" "${options[@]}" "$@"
}

# start_service SIDE RANKS [OUT]: starts the service, under callgrind if OUT is given, with
# instrumentation off.
start_service() {
  local command=("$BENCH/contestants/bare_service" 127.0.0.1:0 "$job/port" "$2")
  [ "$1" = bare ] || command=("$MUSTERD" --listen=127.0.0.1:0 --port-file="$job/port" --world-size="$2")
  [ "$1" = bare ] || [ -z "$OBSERVED" ] || command+=(--metrics-listen=127.0.0.1:0 --journal="$job/journal")
  if [ $# -gt 2 ]; then
    (under_callgrind "$3" --instr-atstart=no -- "${command[@]}") > "$job/service.log" 2>&1 &
  else
    "${command[@]}" > "$job/service.log" 2>&1 &
  fi
  service=$!
  pids+=("$service")
  local waited
  for ((waited = 0; waited < PATIENCE * 10; ++waited)); do
    [ ! -s "$job/port" ] || return 0
    kill -0 "$service" 2> /dev/null || fail "the service has ended: $(cat "$job/service.log")"
    sleep 0.1
  done
  fail "the service does not listen"
}

# start_ranks SIDE RANKS [OUT]: starts the ranks, the first under callgrind if OUT is given.
start_ranks() {
  local rank fd
  exec {replies}<> "$job/replies"
  for ((rank = 0; rank < $2; ++rank)); do
    mkfifo "$job/commands.$rank"
    exec {fd}<> "$job/commands.$rank"
    commands+=("$fd")
    (
      export MUSTER_COORDINATOR="$address" MUSTER_RANK="$rank" MUSTER_NODE_FANIN="$fanin"
      command=("$BENCH/contestants/control_plane_rank" "$1" "$job" "$rank" "$2")
      [ $# -lt 3 ] || [ "$rank" -gt 0 ] || under_callgrind "$3" -- "${command[@]}"
      exec "${command[@]}"
    ) > "$job/rank.$rank.log" 2>&1 &
    pids+=("$!")
  done
  await up
}

send() {
  local fd
  for fd in "${commands[@]}"; do echo "$*" >&"$fd"; done
}

await() {
  local line _
  for _ in "${commands[@]}"; do
    read -r -t "$PATIENCE" -u "$replies" line || fail "a rank is silent, and not $1: $(cat "$job"/*.log)"
    [[ $line == *" $1"* ]] || fail "a rank said '$line', and not $1"
  done
}

# begin SIDE RANKS: starts a job that has joined and warmed up. If the variables service_out and
# rank_out are set, the service and the first rank run under callgrind.
begin() {
  job=$(mktemp -d "$WORK/job.XXXXXX")
  mkfifo "$job/replies"
  start_service "$1" "$2" ${service_out:+"$service_out"}
  address=127.0.0.1:$(cat "$job/port")
  start_ranks "$1" "$2" ${rank_out:+"$rank_out"}
  send join "$address"; await joined
  send run barrier 0 0 50; await ran
}

total_of() { awk '/^totals: / { print $2 }' "$1"; }

# of_rank SIDE RANKS: prints a rank's instructions of one barrier. The rank counts from its first to
# its last one.
of_rank() {
  local rank_out=$PROFILES/$1.$2.rank service_out=
  rm -f "$rank_out"*
  begin "$@"
  send run barrier 0 50 "$BARRIERS"; await ran
  stop_all
  mv "$rank_out.2" "$rank_out"
  echo $(($(total_of "$rank_out") / BARRIERS))
}

# of_service SIDE RANKS: prints the service's instructions of one arrival. The ranks make one more
# barrier before they begin.
of_service() {
  local service_out=$PROFILES/$1.$2.service rank_out=
  rm -f "$service_out"*
  begin "$@"
  callgrind_control -i on "$service" > /dev/null 2>&1
  send run barrier 0 50 "$BARRIERS"; await ran
  callgrind_control -i off "$service" > /dev/null 2>&1
  callgrind_control -d "$service" > /dev/null 2>&1
  stop_all
  mv "$service_out.1" "$service_out"
  echo $(($(total_of "$service_out") / (BARRIERS + 1) / $2))
}

row() {
  local ours=$1 floor=$2
  shift 2
  awk -v what="$*" -v ours="$ours" -v floor="$floor" \
    'BEGIN { printf "| %s | %d | %d | %.2f |\n", what, ours, floor, ours / floor }'
}

mkdir -p "$PROFILES"
fanin=0  # 1: ranks arrive together
echo "| instructions | Muster | bare gRPC | ratio |"
echo "|---|---|---|---|"
for ranks in "${sizes[@]}"; do
  bare_rank=$(of_rank bare "$ranks") bare_service=$(of_service bare "$ranks")
  for fanin in 0 1; do
    how=$([ $fanin = 0 ] && echo "each by itself" || echo "of one node")
    row "$(of_rank muster "$ranks")" "$bare_rank" "a barrier of $ranks ranks, $how, in a rank's process"
    row "$(of_service muster "$ranks")" "$bare_service" "an arrival, of $ranks ranks, $how, in the service"
  done
done
