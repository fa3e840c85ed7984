# shellcheck shell=bash
# shellcheck disable=SC2154  # the script sets them
# Sourced by scripts that run test cases which Bazel does not: each is a function, run in a shell of its own. The script
# sets $xml, the file that lists the outcomes for tools/count_tests.py, or nothing, and defines say TEXT. For example
#
#   fresh_jobs_form() { [[ -e /dev/shm ]] || skip "there is no /dev/shm"; tools/start-a-job; }
#   run_case fresh_jobs_form
#   finish

declare -A case_counts=([passed]=0 [failed]=0 [skipped]=0)
case_lines=()
skip_status=77

# skip REASON: ends the case that runs.
skip() {
  printf '%s\n' "$1" > "$case_folder/reason"
  exit "$skip_status"
}

# run_case NAME [COMMAND [ARGUMENT]...]: runs the function of that name, or the command. Leaves "passed", "failed" or
# "skipped" in $outcome.
run_case() {
  local status=0 start=$SECONDS inside='' reason=
  case_folder=$(mktemp -d)
  set +e
  (set -e; "${@:$(($# > 1 ? 2 : 1))}") > "$case_folder/output" 2>&1
  status=$?
  set -e
  case $status in
    0) outcome=passed ;;
    "$skip_status")
      outcome=skipped
      reason=$(xargs -d '\n' < "$case_folder/reason" | tr '<>&"' "()+'")
      inside="<skipped message=\"$reason\"/>"
      ;;
    *)
      outcome=failed
      inside='<failure/>'
      cat "$case_folder/output"
      ;;
  esac
  rm -r "$case_folder"
  case_counts[$outcome]=$((case_counts[$outcome] + 1))
  case_lines+=("<testcase name=\"$1\">$inside</testcase>")
  say "$outcome: $1, $((SECONDS - start)) s${reason:+: $reason}"
}

# Writes the list, says the counts, and ends the script.
finish() {
  [[ -z $xml ]] || printf '%s\n' '<testsuite>' "${case_lines[@]}" '</testsuite>' > "$xml"
  echo "${case_counts[passed]} passed, ${case_counts[failed]} failed$(
    ((case_counts[skipped] == 0)) || echo ", ${case_counts[skipped]} skipped")"
  exit $((case_counts[failed] > 0))
}
