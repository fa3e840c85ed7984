#!/bin/bash
# Measures what a member costs the coordinator's core, in jobs of several sizes: instructions and
# bytes for each step of its life. Times are not measured: these numbers do not depend on other
# load. A step whose cost does not grow with the number of members is fit for large jobs.
#
#   bazel run //tests/bench:core                  64, 1024 and 10000 members; minutes
#   bazel run //tests/bench:core -- 64 256        other sizes
#   PROFILES=/tmp/core bazel run //tests/bench:core   keeps callgrind's profiles there, one a phase,
#                                                 for callgrind_annotate
#
# Instructions need valgrind. Without it, only bytes are counted.
set -euo pipefail

PHASES="$(cd "$(dirname "$0")" && pwd)/core_phases"
WORK="$(mktemp -d)"
readonly PHASES WORK
trap 'rm -rf "$WORK"' EXIT
sizes=("$@")
[ ${#sizes[@]} -gt 0 ] || sizes=(64 1024 10000)

# Prints "size <tab> phase <tab> instructions" from the profiles of one size.
instructions() {
  local profiles=("$1"/callgrind.out.*)
  awk -v size="$2" '
    /^desc: Trigger: Client Request: / { sub(/^desc: Trigger: Client Request: /, ""); phase = $0 }
    /^totals: / { if (phase != "") print size "\t" phase "\t" $2; phase = "" }
  ' "${profiles[@]}"
}

for size in "${sizes[@]}"; do
  "$PHASES" "$size" | sed "s/^/$size\t/" >> "$WORK/bytes"
  if command -v valgrind > /dev/null; then
    folder="${PROFILES:-$WORK}/$size"
    mkdir -p "$folder"
    rm -f "$folder"/callgrind.out.*
    valgrind --tool=callgrind --instr-atstart=no --collect-atstart=no --log-file="$WORK/log" \
      --callgrind-out-file="$folder/callgrind.out" "$PHASES" "$size" > /dev/null ||
      { cat "$WORK/log" >&2; exit 1; }
    instructions "$folder" "$size" >> "$WORK/instructions"
  fi
done
touch "$WORK/instructions"

awk -F '\t' -v sizes="${sizes[*]}" '
  function row(title, values,    i) {
    printf "%-30s", title
    for (i = 1; i <= n; ++i) printf " %11s", values[i]
    printf "\n"
  }
  function table(title, sums,    p, i, cells, missing) {
    for (i = 1; i <= n; ++i) cells[i] = size[i]
    print ""; row(title, cells)
    for (p = 1; p <= phases; ++p) {
      for (i = 1; i <= n; ++i) {
        missing = !((size[i], phase[p]) in sums)
        cells[i] = missing ? "-" : sprintf("%.0f", sums[size[i], phase[p]] / calls[size[i], phase[p]])
      }
      row(phase[p], cells)
    }
  }
  BEGIN { n = split(sizes, size, " ") }
  FILENAME ~ /bytes$/ {
    if (!($2 in seen)) { seen[$2] = 1; phase[++phases] = $2 }
    calls[$1, $2] = $3; allocated[$1, $2] = $4; held[$1, $2] = $5
    next
  }
  { counted[$1, $2] = $3 }
  END {
    table("instructions, job of", counted)
    table("bytes allocated, job of", allocated)
    table("bytes held longer, job of", held)
  }
' "$WORK/bytes" "$WORK/instructions"
