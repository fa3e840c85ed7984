#!/bin/bash
# Tests tools/docs with stand-ins for doxygen and mkdocs: how it prints their findings, and which
# site it leaves.
set -euo pipefail

root=$TEST_TMPDIR/root
repository=$root/repository
export HOME=$root GIT_CONFIG_GLOBAL=/dev/null

. tests/tools/fake_commands.sh

make_commands() {
  make_command dpkg-query <<< 'printf "%s installed\n" "${@:4}"'
  make_command doxygen <<'EOF'
folder=$(sed -n 's/^OUTPUT_DIRECTORY = "\(.*\)"/\1/p')
mkdir -p "$folder/api"
echo '<p id="x">' > "$folder/api/index.html"
[[ -z ${UNDOCUMENTED:-} ]] || echo "$PWD/client/x.h:3: [docs] warning: F() is not documented."
EOF
  # Stands in for mkdocs, whose site is a copy of the pages. Is Python for anything else.
  make_command python <<'EOF'
[[ "$*" == *"-m mkdocs"* ]] || exec /usr/bin/python3 "$@"
config=${*: -1}
echo "INFO - begun"
mkdir -p "$(dirname "$config")/site"
cp -r "$(dirname "$config")/pages/api" "$(dirname "$config")/site"
echo "<a href=\"${LINK:-api/index.html#x}\">" > "$(dirname "$config")/site/index.html"
[[ -z ${BROKEN:-} ]] || { echo "WARNING - Doc file 'README.md' contains a link"; exit 1; }
EOF
}

make_repository() {
  mkdir -p "$repository/tools" "$root/home/python"/{material,mkdocs}
  cp -rL tools/{apt.sh,docs,docs-requirements.txt,site,wheels.sh} "$repository/tools/"
  touch "$repository/tools/site/Doxyfile" "$repository/README.md"
  cp tools/docs-requirements.txt "$root/home/"
  git -C "$repository" init --quiet
}

run() {
  status=0
  MUSTER_DOCS_HOME=$root/home PYTHON=$root/bin/python PATH=$root/bin:$PATH \
    "$repository/tools/docs" "$@" > "$root/output" 2>&1 || status=$?
}

expect_status() { [[ $status == "$1" ]] || fail "ended with status $status, expected $1"; }
expect_message() { grep -qF -- "$1" "$root/output" || fail "does not say '$1'"; }

make_commands
make_repository

echo "== a site, where it is told to be, in place of the one that was there"
run --output "$root/site"
expect_status 0
[[ -e $root/site/index.html && -e $root/site/api/index.html ]] || fail "the site is not whole"
touch "$root/site/old.html"
run --output "$root/site"
expect_status 0
[[ ! -e $root/site/old.html ]] || fail "something is left of the old one"

echo "== a folder of something else is left alone"
mkdir "$root/mine" && touch "$root/mine/thesis.tex"
run --output "$root/mine"
expect_status 2
expect_message "something else"
[[ -e $root/mine/thesis.tex ]] || fail "it is gone"

echo "== each step's findings are told, and leave the site that was there"
for finding in UNDOCUMENTED=1:api BROKEN=1:site LINK=none.html:links LINK=api/index.html#y:links; do
  (
    export "${finding%:*}"
    run --output "$root/site" --xml "$root/xml"
    expect_status 1
    expect_message "docs: ${finding##*:}: what they have found is above"
    grep -q "name=\"${finding##*:}\"><failure" "$root/xml" || fail "the XML does not say that ${finding##*:} has failed"
    [[ $(grep -c "<failure" "$root/xml") == 1 ]] || fail "more than one step has failed: $(cat "$root/xml")"
  )
done
[[ -e $root/site/index.html ]] || fail "the site is gone"
UNDOCUMENTED=1 run
expect_message "client/x.h:3: [docs] warning"
grep -q "^client/x.h:3" "$root/output" || fail "names the file by more than its path in the tree"
BROKEN=1 run
expect_message "WARNING - Doc file"
! grep -q "INFO" "$root/output" || fail "says what nobody has asked for"

echo "== arguments"
run --help
expect_status 0
run --nonsense
expect_status 2
