#!/bin/bash
# Tests what tools/test-fresh runs, when it fails, and that it leaves nothing behind. Stand-ins
# replace debootstrap and the commands that enter the new system.
set -euo pipefail

test_fresh=$PWD/$1
root=$(realpath "$TEST_TMPDIR")
folder=$root/folder

. tests/tools/fake_commands.sh

# Makes stand-ins that enter the new system by changing to its checkout. "cd /muster" of
# run_commands goes there.
make_commands() {
  mkdir -p "$root/bin" "$folder"
  echo 'echo 0' | make_command id
  echo ':' | make_command mount
  echo 'while [[ $1 == --* ]]; do shift; done; exec "$@"' | make_command unshare
  make_command chroot <<EOF
cd "\$1" && shift
while [[ \$1 != bash ]]; do [[ \$1 != *=* || \$1 == PATH=* ]] || export "\$1"; shift; done
script=\${3//cd \/muster/cd muster}
exec bash -c "\${script//\/var\/log/.}" "\${@:4}"
EOF
  echo "[[ \$* == dump ]] && echo 'Acquire::http::Proxy \"http://proxy.test:1\";'" | make_command apt-config
  echo 'echo Other main file:/elsewhere; echo Debian main file:/mirror' | make_command apt-get
  make_podman
  make_command debootstrap <<EOF
echo "debootstrap \$*" >> '$root/calls'
mkdir -p "\$3"/{proc,dev,etc/apt/apt.conf.d}
touch "\$3"/dev/{null,zero,full,random,urandom,tty}
EOF
}

# Makes a podman whose image is a folder with the new system, which a container enters as chroot
# does.
make_podman() {
  make_command podman <<EOF
[[ \$1 == --root ]] && mkdir -p "\$2"
while [[ \$1 == --* ]]; do shift 2; done
command=\$1 && shift
echo "podman \$command" >> '$root/calls'
case \$command in
  import) mkdir -p '$root/image' && tar -C '$root/image' -x ;;
  run)
    shift 2   # --name muster-fresh
    while [[ \$1 != muster-fresh ]]; do echo "option of podman run: \$1" >&2 && shift; done
    [[ \$2 == true ]] || exec chroot '$root/image' "\${@:2}"
    ;;
  rm) rm -rf '$root/image' ;;
esac
EOF
}

# make_checkout: makes a repository whose tools print what they should. TOOL=TEXT replaces what one
# tool prints.
make_checkout() {
  rm -rf "$root/checkout" && mkdir -p "$root/checkout/tools"
  cp "$test_fresh" "$root/checkout/tools/"
  write_tool quickstart 'echo "== Done: loss=0.1"; echo "read on"'
  write_tool test 'echo "7 passed, 0 failed, 1 skipped"'
  git -C "$root/checkout" init --quiet
  commit_all
}

# write_tool NAME TEXT
write_tool() {
  printf '#!/bin/bash\necho %s >> %q\n%s\n' "$1" "$root/calls" "$2" > "$root/checkout/tools/$1"
  chmod +x "$root/checkout/tools/$1"
}

commit_all() {
  git -C "$root/checkout" add --all
  git -C "$root/checkout" -c user.name=t -c user.email=t@t.test commit --quiet --message=all
}

# run ARGUMENT...: leaves the status in $status, the output in the file `output`, and its calls in
# `calls`.
run() {
  : > "$root/calls"
  status=0
  HOME=$root PATH="$root/bin:$PATH" "$root/checkout/tools/test-fresh" --folder "$folder" "$@" \
    > "$root/output" 2>&1 || status=$?
}

expect() {
  [[ $status == "$1" ]] || fail "status $status, expected $1"
  # shellcheck disable=SC2053  # a pattern
  [[ $(paste -sd, "$root/calls") == $2 ]] || fail "called '$(paste -sd, "$root/calls")', expected '$2'"
  [[ -z $(ls "$folder") ]] || fail "left behind: $(find "$folder" -maxdepth 3)"
}

expect_output() { grep -q -- "$1" "$root/output" || fail "the output lacks '$1'"; }

# interrupt_once_running PID: interrupts that run of tools/test-fresh once it has started
# tools/test.
interrupt_once_running() {
  local deadline=$((SECONDS + 60))
  until [[ -s $root/running ]]; do
    ((SECONDS < deadline)) || fail "tools/test was not started within a minute"
    sleep 0.1
  done
  kill -TERM "$1"
  status=0
  wait "$1" || status=$?
  [[ $status == 143 ]] || fail "status $status, expected 143"
  [[ -z $(ls "$folder") ]] || fail "left behind: $(find "$folder" -maxdepth 3)"
  kill "$(cat "$root/running")" 2> /dev/null || true   # only needed without a namespace
  rm "$root/running"
}

make_commands
make_checkout

echo "== both commands, in order, on a Debian from this machine's mirror"
run
expect 0 'debootstrap --variant=minbase bookworm * file:/mirror,quickstart,test'
expect_output 'everything works on a fresh Debian 12'

echo "== without sources apt gets no list of them, and what needs none is run"
write_tool install 'grep -h deb-src ../etc/apt/apt.conf.d/*' && commit_all
run --without-sources
expect 0 'debootstrap *,quickstart,install,test'
expect_output '^Acquire::IndexTargets::deb-src::'
run
! grep -q deb-src "$root/output" || fail "apt is without sources unasked"

echo "== another Debian, and another command"
run --release 13 'echo said by $PWD; cat ../etc/apt/apt.conf.d/*'
expect 0 'debootstrap --variant=minbase trixie *'
expect_output "said by $folder/.*/muster$"
expect_output '^Acquire::http::Proxy "http://proxy.test:1";$'

echo "== variables of this machine do not come along, but those of package fetching do"
export https_proxy=http://proxy.test:2 PIP_INDEX_URL=http://index.test MUSTER_JOB=mine
run 'tools/show'
expect 1 'debootstrap *'
write_tool show 'env' && commit_all
run 'tools/show'
expect 0 'debootstrap *,show'
expect_output '^https_proxy=http://proxy.test:2$'
expect_output '^PIP_INDEX_URL=http://index.test$'
unset https_proxy PIP_INDEX_URL MUSTER_JOB

echo "== NCCL's sources come along, and a folder without them is refused before anything begins"
mkdir "$root/nccl"
MUSTER_NCCL_SOURCES=$root/nccl run
expect 1 ''
expect_output "MUSTER_NCCL_SOURCES is '$root/nccl', which has no tarballs of NCCL"
touch "$root/nccl/nccl-v2.30.7-1.tar.xz"
MUSTER_NCCL_SOURCES=$(realpath --relative-to . "$root/nccl") run 'ls ../nccl-sources; echo "$MUSTER_NCCL_SOURCES"'
expect 0 'debootstrap *'
expect_output '^nccl-v2.30.7-1.tar.xz$'
expect_output '^/nccl-sources$'

echo "== what is compiled there is kept for the next run, apart for each release, if asked for"
echo 'echo "mount $*"' | make_command mount
run --release 13 --compiled "$root/compiled" 'cat ../root/.bazelrc'
expect 0 'debootstrap *'
expect_output "^mount --bind $root/compiled/trixie $folder/.*/root/compiled$"
expect_output '^build --disk_cache=/compiled$'
run 'ls ../root'
expect 1 'debootstrap *'
run --container --compiled "$root/compiled"
expect 0 'debootstrap *,podman import,podman run,podman run,quickstart,test,podman rm'
expect_output "^option of podman run: $root/compiled/bookworm:/compiled$"
echo ':' | make_command mount

echo "== packages for that Debian are tried there, and nothing is built"
mkdir -p "$root/checkout/tests/install" "$root/packages"
printf '#!/bin/bash\necho packages >> %q\nls ../packages\n' "$root/calls" > "$root/checkout/tests/install/packages.sh"
chmod +x "$root/checkout/tests/install/packages.sh" && commit_all
touch "$root"/packages/muster_1-1~deb{12,13}u1_amd64.deb
run --packages "$root/packages"
expect 0 'debootstrap --variant=minbase bookworm *,packages'
expect_output '^muster_1-1~deb12u1_amd64.deb$'
! grep -q deb13 "$root/output" || fail "those for another Debian are tried, too"
run --packages "$root/checkout"
expect 1 ''
expect_output 'has no packages for Debian 12; tools/deb makes them'

echo "== a tarball is unpacked there, also on Ubuntu, with programs that are built here against another copy"
mkdir -p "$root/tarball/muster-1/bin"
touch "$root/tarball/muster-1/bin/muster"
tar -cJf "$root/muster-1.tar.xz" -C "$root/tarball" muster-1
printf '#!/bin/bash\necho "tarball $*" >> %q\nls ..$1 ../programs\n' "$root/calls" > "$root/checkout/tests/install/tarball.sh"
printf '#!/bin/bash\necho "builds against $1"\n[[ -e $1/bin/muster ]] && touch "$2/in-c++"\n' > "$root/checkout/tests/install/build_programs.sh"
chmod +x "$root"/checkout/tests/install/{tarball,build_programs}.sh && commit_all
for name in cmake pkg-config gcc g++; do make_command $name <<< 'exit 1'; done
run --tarball "$root/muster-1.tar.xz"
expect 0 'debootstrap --variant=minbase bookworm * file:/mirror,tarball /unpacked /programs/\*'
expect_output "^builds against $folder/.*/elsewhere$"
expect_output '^bin$'
expect_output '^in-c++$'
run --tarball "$root/muster-1.tar.xz" --release 22.04
expect 0 'debootstrap --variant=minbase jammy * http://archive.ubuntu.com/ubuntu,tarball *'
expect_output 'everything works on a fresh Ubuntu 22.04'
run --release 22.04
expect 1 ''
expect_output 'Ubuntu is for --tarball'
run --tarball "$root/none.tar.xz"
expect 1 ''
expect_output 'tools/dist makes one'

echo "== programs that cannot be built end it"
printf '#!/bin/bash\necho "no header" >&2\nexit 1\n' > "$root/checkout/tests/install/build_programs.sh" && commit_all
run --tarball "$root/muster-1.tar.xz"
expect 1 'debootstrap *'
expect_output '^no header$'
expect_output 'no program can be built against the tarball'
rm "$root"/bin/{pkg-config,gcc,g++,cmake}

echo "== in a container the same happens, without privileges, and it is removed"
run --container
expect 0 'debootstrap *,podman import,podman run,podman run,quickstart,test,podman rm'
expect_output 'everything works on a fresh Debian 12'
expect_output '^option of podman run: --network$'
expect_output '^option of podman run: --shm-size$'
! grep -E '^option .* --(privileged|cap-add|device|security-opt)' "$root/output" || fail "it has privileges"
[[ ! -e $root/image ]] || fail "the container is left behind"

echo "== why podman runs no container is said in its words"
echo 'cat > /dev/null; echo "podman is not allowed to"; exit 125' | make_command podman
run --container
expect 1 'debootstrap *'
expect_output 'podman cannot make an image. It says:'
expect_output '^podman is not allowed to'
make_podman

echo "== a command that fails ends it"
write_tool quickstart 'exit 9' && commit_all
run
expect 1 'debootstrap *,quickstart'
expect_output "'tools/quickstart' has failed"

echo "== and so does one whose last line does not say that nothing failed"
make_checkout
for text in "5 passed, 1 failed" "0 passed, 0 failed" "nothing"; do
  write_tool test "echo '$text'" && commit_all
  run
  expect 1 'debootstrap *,quickstart,test'
  expect_output "'tools/test' ended with status 0, but"
done

echo "== what is not committed is not tested, and that is said"
make_checkout
write_tool test 'exit 9'
run
expect 0 'debootstrap *,quickstart,test'
expect_output 'what is not committed is not tested (1 files)'

echo "== debootstrap's failure is said in its words"
echo 'echo "E: no such mirror"; exit 3' | make_command debootstrap
run
expect 1 ''
expect_output '^E: no such mirror'
make_commands

echo "== interrupted, it ends what it has started and leaves nothing behind"
write_tool test 'echo $$ > '"$root/running"'; exec sleep 1000' && commit_all
HOME=$root PATH="$root/bin:$PATH" "$root/checkout/tools/test-fresh" --folder "$folder" > "$root/output" 2>&1 &
interrupt_once_running $!

echo "== so it does where that runs in a container"
: > "$root/calls"
HOME=$root PATH="$root/bin:$PATH" "$root/checkout/tools/test-fresh" --container --folder "$folder" 'exec tools/test' \
  > "$root/output" 2>&1 &
interrupt_once_running $!
[[ $(tail -n 1 "$root/calls") == "podman rm" ]] || fail "the container is left behind"

echo "== arguments"
run --help
expect 0 ''
expect_output '^Usage: tools/test-fresh'
run --nonsense
expect 2 ''
run --release 11
expect 1 ''
expect_output "not '11'"
