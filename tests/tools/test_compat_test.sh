#!/bin/bash
# Tests which release tools/test-compat takes, which jobs it runs, and what it says of known breaks.
# Stand-ins replace Bazel, the compiler, and the jobs.
set -euo pipefail

root=$(realpath "$TEST_TMPDIR")
checkout=$root/checkout

. tests/tools/fake_commands.sh

make_checkout() {
  mkdir -p "$checkout"/{tools,tests/compat,client/include,bazel-bin/{server,client/{cli,shared}}}
  cp tools/{test-compat,cases.sh} "$checkout/tools"
  touch "$checkout/tests/compat"/{rank.c,breaks} "$checkout"/bazel-bin/client/{cli/muster,shared/libmuster.so}
  make_command "$checkout/bazel-bin/server/musterd" <<< 'echo "musterd 0.2.0 (protocol 1)"'
  # A job that fails if $FAILS is part of how it is called.
  make_command "$checkout/tests/compat/job.py" <<EOF
called=\$(sed -E 's|$root/tmp/[^ /]*/||g' <<< "\$*")
echo "\$called" >> '$root/jobs'
[[ -z \${FAILS:-} || \$called != *\$FAILS* ]] || { echo "the job has failed"; exit 1; }
EOF
  git -C "$checkout" init --quiet
  commit
  commit
}

commit() {
  git -C "$checkout" add --all
  git -C "$checkout" -c user.name=t -c user.email=t@t.test commit --quiet --allow-empty --message=all
}

# make_release VERSION: makes its tarball in the folder of releases.
make_release() {
  local name
  name=muster-$1-linux-$(uname -m)
  mkdir -p "$root/$name"/{bin,lib,include} "$root/releases"
  make_command "$root/$name/bin/musterd" <<< "echo 'musterd $1 (protocol 1)'"
  tar -cJf "$root/releases/$name.tar.xz" -C "$root" "$name"
}

# run ARGUMENT...: leaves the status in $status, and the jobs that were run in $root/jobs.
run() {
  : > "$root/jobs"
  mkdir -p "$root/tmp"
  status=0
  TMPDIR=$root/tmp MUSTER_RELEASES=$root/releases PATH=$root/bin:$PATH \
    "$checkout/tools/test-compat" --xml "$root/xml" "$@" > "$root/output" 2>&1 || status=$?
}

expect() {
  [[ $status == "$1" ]] || fail "status $status, expected $1"
  [[ $(tail -n 1 "$root/output") == "$2" ]] || fail "the last line is not '$2'"
  [[ -z $(ls "$root/tmp") ]] || fail "left behind: $(ls "$root/tmp")"
}

expect_output() { grep -q -- "$1" "$root/output" || fail "the output lacks '$1'"; }
expect_job() { grep -q -- "$1" "$root/jobs" || fail "no job was run as '$1', but: $(cat "$root/jobs")"; }

make_checkout
make_command bazel <<< 'echo "bazel $*"'
make_command gcc <<< 'echo "gcc $*"'

echo "== without a release that is said, and is no failure"
run
expect 0 '0 passed, 0 failed, 1 skipped'
expect_output 'skipped: the_last_release_is_there, .*: there is no earlier release to run with: git knows no tag'
grep -q '<testcase name="the_last_release_is_there"><skipped message="there is no earlier release' "$root/xml" || fail "no test case says so"

echo "== the tag of this very commit is no earlier release"
git -C "$checkout" tag v0.2.0
run
expect 0 '0 passed, 0 failed, 1 skipped'

echo "== with one, programs, daemons and restarts are mixed both ways"
git -C "$checkout" tag v0.1.0 HEAD^
make_release 0.1.0
run
expect 0 '12 passed, 0 failed'
expect_job '^--daemon new --launcher old --rank old-rank everything$'
expect_job '^--daemon new --launcher old --rank old-rank loss$'
expect_job '^--daemon old --launcher new --rank new-rank everything$'
expect_job '^--daemon old --launcher new --rank mixed-ranks loss$'
expect_job '^--daemon old --launcher old --rank old-rank --next-daemon new steps$'
expect_job '^--daemon new --launcher new --rank new-rank --next-daemon old steps$'

echo "== another version may be named, as a folder or a tarball"
run --with "$root/muster-0.1.0-linux-$(uname -m)"
expect 0 '12 passed, 0 failed'
run --with "$root/releases/muster-0.1.0-linux-$(uname -m).tar.xz"
expect 0 '12 passed, 0 failed'

echo "== a job that fails is shown, and fails the case; so does the first of two"
FAILS='--daemon old --launcher new --rank new-rank everything' run
expect 1 '11 passed, 1 failed'
expect_output '^the job has failed$'
expect_output 'failed: these_programs_with_the_released_daemon'

echo "== what is known to break is skipped with its reason, for that release alone"
echo 'these_programs_with_the_released_daemon 0.1.0 Join has another field' > "$checkout/tests/compat/breaks"
FAILS='--daemon old --launcher new --rank new-rank everything' run
expect 0 '11 passed, 0 failed, 1 skipped'
expect_output 'known not to work with 0.1.0: *Join has another field'
sed -i 's/0.1.0/0.0.9/' "$checkout/tests/compat/breaks"
FAILS='--daemon old --launcher new --rank new-rank everything' run
expect 1 '11 passed, 1 failed'

echo "== and must not be listed once it works"
sed -i 's/0.0.9/0.1.0/' "$checkout/tests/compat/breaks"
run
expect 1 '11 passed, 1 failed'
expect_output "it works: remove 'these_programs_with_the_released_daemon 0.1.0' from tests/compat/breaks"

run --nonsense
[[ $status == 2 ]] || fail "takes --nonsense"
