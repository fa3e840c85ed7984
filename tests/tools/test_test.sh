#!/bin/bash
# Tests which runs of Bazel tools/test makes, and what it says of runs for which there is not enough
# time. A stand-in for Bazel notes its arguments.
set -euo pipefail

test_script=$PWD/$1
counter=$PWD/$2
root=$TEST_TMPDIR/root

. tests/tools/fake_commands.sh

make_command() { cat > "$1" && chmod +x "$1"; }

mkdir -p "$root/tools" "$root/bin"
cp "$test_script" "$counter" "$root/tools/"
make_command "$root/tools/install-deps" <<< '#!/bin/bash'
make_command "$root/tools/install-pic-objects" <<'EOF'
#!/bin/bash
echo "pic $*" >> "$RUNS.other"
[[ -z ${NO_DEBIAN_SOURCES:-} ]] || { echo "apt has no sources of abseil" >&2; exit "$NO_DEBIAN_SOURCES"; }
EOF
make_command "$root/tools/install-mpich-tests" <<'EOF'
#!/bin/bash
echo "mpich $*" >> "$RUNS.other"
[[ -z ${NO_MPICH:-} ]] || { echo "apt has no sources of mpich=1-1" >&2; exit "$NO_MPICH"; }
EOF
make_command "$root/tools/install-nccl-source" <<'EOF'
#!/bin/bash
echo "$*" >> "$RUNS.other"
[[ -z ${NO_SOURCES:-} ]] || { echo "NCCL \"2.22.3\" cannot be had: no <network>" >&2; exit "$NO_SOURCES"; }
EOF
make_command "$root/bin/bazel" <<'EOF'
#!/bin/bash
[[ $1 == test ]] || { echo "$*" >> "$RUNS.other"; [[ $1 != query ]] || echo //more:versions; exit; }
echo "$*" >> "$RUNS.tests"
run=$(grep -o 'config=[a-z]*' <<< "$*" || echo plain)
echo "$run" >> "$RUNS"
events=$(grep -o 'build_event_json_file=[^ ]*' <<< "$*")
echo '{"id": {"testResult": {"label": "//nccl:'"$run"'"}}, "testResult": {"status": "PASSED"}}' > "${events#*=}"
if [[ -n ${SKIPS:-} ]]; then
  echo '<testsuite><testcase name="Mounts"><skipped message="no namespace"/></testcase></testsuite>' > "$RUNS.xml"
  echo '{"id": {"testResult": {"label": "//disk"}}, "testResult": {"status": "PASSED",
    "testActionOutput": [{"name": "test.xml", "uri": "file://'"$RUNS"'.xml"}]}}' | tr -d '\n' >> "${events#*=}"
fi
[[ $run != "${FAIL:-}" ]] || exit 3
EOF
export PATH=$root/bin:$PATH RUNS=$root/runs
unset CI

# run ARGUMENT...: leaves the exit status in $status, Bazel's runs in $runs, and the last line in
# $last.
run() {
  rm -f "$RUNS" "$RUNS.other" "$RUNS.tests"
  status=0
  "$root/tools/test" "$@" > "$root/output" 2>&1 || status=$?
  runs=$(tr '\n' ' ' < "$RUNS")
  last=$(tail -n 1 "$root/output")
}

expect() {
  [[ $runs == "$1 " ]] || fail "ran '$runs', expected '$1'"
  [[ $last == "$2" ]] || fail "the last line is '$last', expected '$2'"
  [[ $status == "$3" ]] || fail "ended with status $status, expected $3"
}

expect_message() { grep -q -- "$1" "$root/output" || fail "nothing is said of '$1'"; }

run
expect 'plain config=fuzz' '2 passed, 0 failed' 0

grep -q '^build .*@nccl_2_22_3//:libnccl.so.2' "$RUNS.other" || fail "NCCL was not built beforehand"
expect_message '^tools/test: minutes: nccl-build 0 all 0 fuzz 0$'
! grep -q //more:versions "$RUNS.tests" || fail "other versions of NCCL were tested, too"

run --config=asan
expect 'config=asan' '1 passed, 0 failed' 0

run --nccl-versions all
expect 'plain config=fuzz' '2 passed, 0 failed' 0
grep -q '^--versions all' "$RUNS.other" || fail "the sources of all versions were not brought"
grep -q '//more:versions' "$RUNS.tests" || fail "the other versions of NCCL were not tested"

NO_SOURCES=3 run
expect 'plain config=fuzz' '2 passed, 0 failed, 1 skipped' 0
expect_message '^SKIPPED //tools:install-nccl-source the tests on NCCL.s own host code: NCCL "2.22.3" cannot be had: no <network>$'

NO_SOURCES=3 CI=true run
expect 'plain config=fuzz' '2 passed, 1 failed, 1 skipped' 1
expect_message '^FAILED //tools:install-nccl-source the tests on NCCL'

status=0
NO_SOURCES=1 "$root/tools/test" > "$root/output" 2>&1 || status=$?
[[ $status == 1 ]] || fail "wrong sources are no failure"

# Debian's sources are missing, which libmuster.so needs.
NO_DEBIAN_SOURCES=3 run
expect 'plain config=fuzz' '2 passed, 0 failed, 1 skipped' 0
expect_message '^SKIPPED //tools:install-pic-objects the tests of libmuster.so: apt has no sources of abseil$'

NO_DEBIAN_SOURCES=3 CI=true run
expect 'plain config=fuzz' '2 passed, 1 failed, 1 skipped' 1
expect_message '^FAILED //tools:install-pic-objects the tests of libmuster.so'

NO_DEBIAN_SOURCES=3 run --without-shared-library
expect 'plain config=fuzz' '2 passed, 0 failed' 0
! grep -qE '^(pic|mpich)' "$RUNS.other" || fail "it asks apt for sources"

status=0
NO_DEBIAN_SOURCES=1 "$root/tools/test" > "$root/output" 2>&1 || status=$?
[[ $status == 1 ]] || fail "objects that cannot be compiled are no failure"

# So are those of MPICH's test programs.
NO_MPICH=3 run
expect 'plain config=fuzz' '2 passed, 0 failed, 1 skipped' 0
expect_message "^SKIPPED //tools:install-mpich-tests the tests of muster run with MPICH's own test programs: apt has no sources of mpich=1-1$"

NO_MPICH=3 CI=true run
expect 'plain config=fuzz' '2 passed, 1 failed, 1 skipped' 1
expect_message '^FAILED //tools:install-mpich-tests the tests of muster run'

status=0
"$root/tools/test" --nccl-versions some > "$root/output" 2>&1 || status=$?
[[ $status == 2 ]] || fail "takes some versions"

run --without-cuda --sanitizers-within 60
expect 'plain config=fuzz config=tsan config=asan' '4 passed, 0 failed' 0

expect_message '^tools/test: minutes: all 0 fuzz 0 tsan 0 asan 0$'

NO_SOURCES=3 run --sanitizers-within 60
expect 'plain config=fuzz config=tsan config=asan' '4 passed, 0 failed, 1 skipped' 0

run --sanitizers-within 60
expect 'plain config=fuzz config=tsan config=tsan config=asan config=asan' '6 passed, 0 failed' 0
expect_message '^tools/test: minutes: nccl-build 0 all 0 fuzz 0 tsan 0 tsan-nccl 0 asan-nccl 0 asan 0$'
grep -q 'config=tsan .*//tests/nccl/real/' "$RUNS.tests" || fail "NCCL was not tested with threads"
grep -q 'config=asan .*//tests/client/nccl:split_test_on_nccl_2_30_7' "$RUNS.tests" || fail "NCCL was not tested"

run --sanitizers-within 13
expect 'plain config=fuzz config=tsan config=tsan' '4 passed, 0 failed' 0
expect_message ' asan-nccl is left out: of 13 minutes'
expect_message ' asan is left out: of 13 minutes'

FAIL=config=fuzz run --sanitizers-within 60
expect 'plain config=fuzz' '2 passed, 1 failed' 1
expect_message ' asan-nccl is left out: not everything has passed'

FAIL=config=asan run --sanitizers-within 60
expect 'plain config=fuzz config=tsan config=tsan config=asan' '5 passed, 1 failed' 1
expect_message ' asan is left out: not everything has passed'

SKIPS=yes run --config=asan
expect 'config=asan' '1 passed, 0 failed, 1 skipped' 0
expect_message '^SKIPPED //disk Mounts: no namespace'

SKIPS=yes CI=true run --config=asan
expect 'config=asan' '1 passed, 1 failed, 1 skipped' 1
expect_message '^FAILED //disk Mounts: no namespace'

# A stand-in for tools/test-deploy, which passes, fails or is skipped.
make_command "$root/tools/test-deploy" <<'EOF'
#!/bin/bash
echo "<testsuite><testcase name=\"ends\">${DEPLOY_CASE:-}</testcase></testsuite>" > "$2"
[[ ${DEPLOY_CASE:-} != *failure* ]]
EOF

run --deploy --sanitizers-within 60
expect 'plain config=fuzz config=tsan config=tsan config=asan config=asan' '7 passed, 0 failed' 0
expect_message '^tools/test: minutes: nccl-build 0 all 0 deploy 0 '

DEPLOY_CASE='<skipped message="no root"/>' CI=true run --deploy
expect 'plain config=fuzz' '2 passed, 0 failed, 1 skipped' 0
expect_message '^SKIPPED //tools:test-deploy ends: no root'

DEPLOY_CASE='<failure/>' run --deploy --sanitizers-within 60
expect 'plain config=fuzz' '2 passed, 1 failed' 1
expect_message '^FAILED //tools:test-deploy ends'

# A stand-in for tools/test-bazel.
make_command "$root/tools/test-bazel" <<'EOF'
#!/bin/bash
echo '<testsuite><testcase name="builds"/><testcase name="runs"><failure/></testcase></testsuite>' > "$2"
exit 1
EOF
run --workspace
expect 'plain config=fuzz' '3 passed, 1 failed' 1
expect_message '^FAILED //tools:test-bazel runs'
expect_message '^tools/test: minutes: nccl-build 0 all 0 workspace 0 '

# Stand-ins for tools/test-dist and tools/test-compat. Skipped cases of theirs are no failures, not even in CI.
for name in dist compat; do
  make_command "$root/tools/test-$name" <<'EOF'
#!/bin/bash
echo "<testsuite><testcase name=\"runs\">${NEW_CASE:-}</testcase></testsuite>" > "$2"
[[ ${NEW_CASE:-} != *failure* ]]
EOF
done
run --dist --compat
expect 'plain config=fuzz' '4 passed, 0 failed' 0
expect_message '^tools/test: minutes: nccl-build 0 all 0 compat 0 dist 0 '
grep -q '^pic --gloo$' "$RUNS.other" || fail "Gloo was not compiled before the tests"

NEW_CASE='<skipped message="there is no release yet"/>' CI=true run --dist --compat
expect 'plain config=fuzz' '2 passed, 0 failed, 2 skipped' 0
expect_message '^SKIPPED //tools:test-dist runs: there is no release yet$'
expect_message '^SKIPPED //tools:test-compat runs: there is no release yet$'

NEW_CASE='<failure/>' run --compat
expect 'plain config=fuzz' '2 passed, 1 failed' 1
expect_message '^FAILED //tools:test-compat runs'

# Stand-ins for the gates, one of which finds something.
make_command "$root/tools/check" <<'EOF'
#!/bin/bash
[[ $* == "--all --tidy-within 2 --xml "* ]] || exit 2
echo '<testsuite><testcase classname="check" name="format"/><testcase classname="check" name="links"><failure/></testcase></testsuite>' > "${@: -1}"
exit 1
EOF
make_command "$root/tools/docs" <<'EOF'
#!/bin/bash
echo "<testsuite><testcase classname=\"docs\" name=\"site\"/></testsuite>" > "$2"
EOF

run --gates
expect 'plain config=fuzz' '4 passed, 1 failed' 1
expect_message '^FAILED //tools:check check.links'
expect_message '^tools/test: minutes: gates 0 docs 0 nccl-build 0 all 0 '

# Stands in for a program that ends before it has printed anything.
make_command "$root/tools/docs" <<< $'#!/bin/bash\nexit 2'
run --gates
expect_message '^FAILED //tools:docs (FAILED)'

! "$root/tools/test" --sanitizers-within > "$root/output" 2>&1 || fail "takes no number"

# If Bazel may not mount, all tests share the free memory of /dev/shm. 64 MiB are not enough.
make_command "$root/bin/unshare" <<< $'#!/bin/bash\nexit 1'
make_command "$root/bin/df" <<< $'#!/bin/bash\necho Avail\necho "  $FREE"'
FREE=2048 run --config=asan
expect 'config=asan' '1 passed, 0 failed' 0
rm "$RUNS"
status=0
FREE=64 "$root/tools/test" > "$root/output" 2>&1 || status=$?
[[ $status == 1 && ! -e $RUNS ]] || fail "tests run in 64 MiB of shared memory"
expect_message '^test: /dev/shm has 64 MiB free, .* --shm-size=2g'
