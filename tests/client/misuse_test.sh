#!/bin/bash
# Tests what users type at first: it compiles, or the first error is Muster's own and says what to
# write.
set -euo pipefail

compile() {
  cat > "$TEST_TMPDIR/program.cc" <<- PROGRAM
	#include <map>
	#include "muster/muster.h"
	void Try(std::unique_ptr<muster::Job>& job, absl::StatusOr<std::unique_ptr<muster::Job>>& joined,
	         muster::Group& group, int (&array)[4], int* pointer, absl::Span<int> span,
	         absl::Span<const int> fixed, std::vector<int>& vector, absl::string_view text) {
	  $1
	}
	PROGRAM
  c++ -std=c++17 -Wall -Wextra -Wno-unused -fsyntax-only -Iclient/include "$TEST_TMPDIR/program.cc" > "$TEST_TMPDIR/output" 2>&1
}

failed=0
fail() {
  echo "FAILED: $*"
  cat "$TEST_TMPDIR/output"
  failed=1
}

# These statements all compile in one program.
accepted=""
compiles() {
  accepted+="{ $1 }"$'\n'
}

# refused STATEMENT TEXT: expects that the first error is in a header of Muster's and contains TEXT.
refused() {
  if compile "$1"; then
    fail "compiles: $1"
    return
  fi
  local first
  first=$(grep -m 1 'error:' "$TEST_TMPDIR/output")
  case $first in
    client/include/muster/*"error: static assertion failed: "*"$2"*) ;;
    *) fail "'$1' begins with '$first', and not with '$2'" ;;
  esac
}

echo "== texts come back as std::string"
compiles 'absl::StatusOr<std::string> all = job->Broadcast("hello");'
compiles 'absl::StatusOr<std::string> all = group.Broadcast(text, 1, {absl::Seconds(1)});'
compiles 'absl::StatusOr<std::string> all = job->Broadcast<std::string>("hello");'
compiles 'absl::StatusOr<std::vector<std::string>> all = job->Gather("hello", 1);'
compiles 'absl::StatusOr<std::vector<std::string>> all = job->AllGather("hello");'

echo "== a communicator is created of whatever Join() returned"
compiles 'auto made = muster::Communicator::Create(*job);'
compiles 'auto made = muster::Communicator::Create(job);'
compiles 'auto made = muster::Communicator::Create(joined);'
compiles 'auto made = muster::Communicator::Create(group);'

echo "== arrays in the caller's memory"
compiles 'absl::Status status = job->Broadcast(absl::MakeSpan(array));'
compiles 'absl::Status status = job->AllReduce(absl::MakeSpan(array), muster::ReduceOp::kMax);'
compiles 'absl::Status status = job->Gather(array, absl::MakeSpan(vector));'
compiles 'absl::Status status = group.AllGather(fixed, span, {absl::Seconds(1)});'

compile "$accepted" || fail "the statements above do not compile"
[[ ! -s $TEST_TMPDIR/output ]] || fail "the statements above compile with warnings"

echo "== what cannot be done says what to write"
refused 'job->AllReduce("x");' "AllReduce() takes a number, a std::vector of numbers"
refused 'job->AllReduce(array);' "AllReduce() takes a number, a std::vector of numbers"
refused 'job->AllReduce(fixed);' "AllReduce() changes an absl::Span of numbers in place"
refused 'job->Broadcast(array);' "pass absl::MakeSpan(array), which Broadcast()"
refused 'job->Gather(array);' "pass absl::MakeSpan(array), which Broadcast()"
refused 'job->Broadcast(pointer);' "pass the value itself, not a pointer"
refused 'job->AllGather(span);' "pass the value itself, not a pointer to it or a view of it"
refused 'job->Broadcast(fixed);' "Broadcast() changes an absl::Span<T> in place"
refused 'job->Broadcast(std::map<int, int>());' "specialize muster::Codec for it"

exit "$failed"
