#!/bin/bash
# Tests which files tools/check gives to which gate, and how it prints their findings. The gates are
# stand-ins that note their arguments. Muster's own gates have tests of their own
# (tests/tools/gates).
set -euo pipefail

root=$TEST_TMPDIR/root
repository=$root/repository
export HOME=$root GIT_CONFIG_GLOBAL=/dev/null
unset CI

. tests/tools/fake_commands.sh

git_here() { git -C "$repository" -c user.name=A -c user.email=a@example.com "$@"; }
commit() { git_here add -A && git_here commit --quiet -m "$1"; }

make_commands() {
  make_command dpkg-query <<< 'printf "%s installed\n" "${@:4}"'
  make_command shellcheck <<'EOF'
for file in "${@:3}"; do
  echo "$file" >> "$ROOT/shell"
  [[ $file != bad.sh ]] || echo "$file:3:7: note: Double quote this. [SC2086]"
done
EOF
  make_command codespell <<'EOF'
for file in "${@:5}"; do
  echo "$file" >> "$ROOT/spell"
  [[ $file != bad.sh ]] || echo "$file:2: satus ==> status"
done
EOF
  make_command "$root/home/bin/clang-format" <<'EOF'
echo "$@" >> "$ROOT/format"
[[ " $* " != *" bad.cc "* || $1 == -i ]] || { echo "bad.cc:4:1: error: code should be clang-formatted [x]"; exit 1; } >&2
EOF
  make_command python <<'EOF'
echo "${*:2}" >> "$ROOT/$(basename "$1" .py)"
[[ $1 != *"${BROKEN:-nothing}"* ]] || exit 3
EOF
}

make_repository() {
  mkdir -p "$repository/tools"
  cp tools/{apt.sh,check,check-requirements.txt,wheels.sh} "$repository/tools/"
  cp tools/check-requirements.txt "$root/home/"
  make_command "$repository/tools/install-deps" <<< ''
  git_here init --quiet --initial-branch=main
  touch "$repository"/{old.cc,BUILD.bazel,gone.cc}
  echo '#!/bin/bash' > "$repository/script"
  commit "The first"
}

# run ARGUMENT...: runs tools/check. Leaves its exit status in $status, and the gates' arguments in
# files below $root.
run() {
  rm -f "$root"/{shell,format,build_files,protos,classes,links,prose,spell,tidy}
  status=0
  ROOT=$root MUSTER_CHECK_HOME=$root/home PYTHON=$root/bin/python PATH=$root/bin:$PATH \
    "$repository/tools/check" "$@" > "$root/output" 2>&1 || status=$?
}

expect_status() { [[ $status == "$1" ]] || fail "ended with status $status, expected $1"; }
expect_message() { grep -qF -- "$1" "$root/output" || fail "does not say '$1'"; }

# expect_given GATE WORD...: expects that the gate got these words, in any order.
expect_given() {
  local given
  given=$({ tr ' ' '\n' < "$root/$1"; } 2> /dev/null | sort | xargs) || true
  [[ $given == "$(printf '%s\n' "${@:2}" | sort | xargs)" ]] || fail "$1 was given '$given', expected '${*:2}'"
}

make_commands
make_repository

echo "== where there is one commit, everything is looked at"
run
expect_status 0
expect_message "changed since the beginning"
expect_given tidy gone.cc old.cc
expect_given build_files BUILD.bazel
expect_given shell script tools/apt.sh tools/check tools/install-deps tools/wheels.sh
expect_message "check: all is well"

echo "== on main: what the last commit and the work tree have changed"
touch "$repository/second.h"
commit "The second"
run
expect_given tidy second.h
expect_given shell

echo "== on a branch: what was changed since main, committed or not, and not what is gone"
git_here checkout --quiet -b topic
touch "$repository/committed.cc"
git_here rm --quiet gone.cc
commit "The third"
commit_third=$(git_here rev-parse HEAD)
echo >> "$repository/old.cc"
touch "$repository/new.cu"
run
expect_status 0
expect_given tidy committed.cc old.cc
expect_given format --dry-run -Werror committed.cc new.cu old.cc
expect_given build_files
[[ -e $root/protos && -e $root/classes && -e $root/links && -e $root/prose ]] || fail "not all gates were run"

echo "== since a commit, everything, and without clang-tidy"
run --since "$commit_third"
expect_given tidy old.cc
run --since nothing
expect_status 2
run --all --tidy-within 2
expect_given tidy --within 2 committed.cc old.cc
expect_given format --dry-run -Werror committed.cc new.cu old.cc second.h
run --tidy-all
expect_given tidy committed.cc old.cc second.h
run --without-tidy
[[ ! -e $root/tidy ]] || fail "clang-tidy was run"

echo "== a clone of a branch, which knows main as origin's alone"
git_here add -A && commit "The fourth"
mv "$repository" "$root/origin"
git clone --quiet --branch topic "$root/origin" "$repository"
run
expect_given tidy committed.cc old.cc
rm -rf "$repository"

echo "== a shallow clone, which knows no other commit"
git clone --quiet --depth 1 --branch topic "file://$root/origin" "$repository"
run
expect_given tidy committed.cc old.cc second.h

echo "== what is found is told with its place, and ends with status 1"
printf '#!/bin/sh\n' > "$repository/bad.sh"
touch "$repository/bad.cc"
run --xml "$root/xml"
expect_status 1
expect_message "bad.cc:4: [format] "
expect_message "bad.sh:3: [shell] Double quote this. Or say why not: # shellcheck disable=SC2086"
expect_message "bad.sh:2: [spell] satus: write status; or ignore the word in tools/check"
expect_message "check: format shell spell: what they have found is above"
/usr/bin/python3 - "$root/xml" <<'EOF' || fail "the XML is not as expected: $(cat "$root/xml")"
import sys, xml.etree.ElementTree as tree
cases = {case.get("name"): case.find("failure") for case in tree.parse(sys.argv[1]).iter("testcase")}
assert list(cases) == ["format", "shell", "build", "proto", "classes", "links", "prose", "spell", "tidy"], cases
assert {name for name, failure in cases.items() if failure is not None} == {"format", "shell", "spell"}, cases
assert "bad.cc:4" in cases["format"].get("message")
EOF

echo "== --fix mends"
run --fix
grep -q -- "^-i .*bad.cc" "$root/format" || fail "clang-format was not told to mend"
grep -q -- "^--fix" "$root/build_files" || fail "build_files.py was not told to mend"

echo "== a gate that cannot run is no pass"
rm "$repository"/bad.*
BROKEN=links run --xml "$root/xml"
expect_status 2
expect_message "could not run: links"
grep -q 'name="links"><failure' "$root/xml" || fail "the XML does not say that it has failed"

echo "== a hook, once"
run --install-hook
expect_status 0
grep -q "tools/check --without-tidy" "$repository/.git/hooks/pre-commit" || fail "there is no hook"
run --install-hook
expect_status 2

echo "== arguments"
run --help
expect_status 0
run --nonsense
expect_status 2
