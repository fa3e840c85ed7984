# shellcheck shell=bash
# shellcheck disable=SC2154  # the script sets them
# Sourced by the scripts beside it, after apt.sh: wheels from Python's registry, pinned by hash, laid out in
# a folder of their own. The script sets
#
#   home          the folder
#   requirements  the file that pins them
#   needed_mib    the download, and what is in it, side by side
#   python        whose wheels
#   without       what to tell who must go on without
#   apart         true: each wheel is unpacked as it is, in SITE/NAME, because pip leaves out a wheel's folder
#                 lib, and two wheels may have the same file (optional)
#
# and defines is_whole FOLDER, and lay_out_wheels SITE NEW, which fills the folder NEW from what pip has put
# into SITE, on the same file system.

# Returns whether the packages of an earlier run are the ones that would be installed today.
is_current() { cmp -s "$requirements" "$home/$(basename "$requirements")"; }

check_space() {
  local free_kib
  free_kib=$(df --output=avail -k "$1" | tail -n 1)
  ((free_kib / 1024 >= needed_mib)) ||
    fail "$1 has $((free_kib / 1024)) MiB free, and $needed_mib MiB are needed. Set ${home_variable:-XDG_DATA_HOME} to another place."
}

ensure_pip() {
  "$python" -m pip --version >/dev/null 2>&1 || install_packages python3-pip ||
    fail "needs pip to bring wheels: install Debian's package python3-pip"
}

# run_pip WORK COMMAND [OPTION]...: brings the pinned wheels. pip may write nowhere else (PEP 668).
run_pip() {
  local quiet=(--quiet --disable-pip-version-check)
  local pinned=(--require-hashes --no-deps --only-binary=:all: --requirement "$requirements")
  TMPDIR=$1 "$python" -m pip "$2" "${quiet[@]}" --retries 2 --no-cache-dir "${pinned[@]}" "${@:3}" ||
    fail "pip could not bring the wheels; its messages are above. It needs the network, or a folder
that holds them, named by PIP_FIND_LINKS. $without"
}

# download_wheels WORK: unpacks them in WORK/site.
download_wheels() {
  local wheel name
  ${apart:-false} || {
    run_pip "$1" install --root-user-action=ignore --no-compile --target "$1/site"
    return
  }
  run_pip "$1" download --dest "$1/wheels"
  for wheel in "$1"/wheels/*.whl; do
    name=$(basename "$wheel")
    "$python" -m zipfile --extract "$wheel" "$1/site/${name%%-*}"
    rm "$wheel"
  done
}

# put_in_place NEW: one rename, so that nobody sees half of it.
put_in_place() {
  [[ ! -e $home ]] || mv -T "$home" "$work/old"
  mv -T "$1" "$home"
}

# install_wheels WHAT
install_wheels() {
  local parent
  parent=$(dirname "$home")
  mkdir -p "$parent" || fail "cannot make $parent. Set ${home_variable:-XDG_DATA_HOME} to another place."
  exec 9> "$parent/.$(basename "$home").lock"
  flock 9
  ! is_whole "$home" || ! is_current || return 0   # another run was first
  check_space "$parent"
  work=$(mktemp -d "$parent/.$(basename "$home").XXXXXX")
  trap 'rm -rf "$work"' EXIT
  say "bringing $1 to $home ($(sed -n 's/ [;\\].*//; /==/p' "$requirements" | xargs))"
  download_wheels "$work"
  lay_out_wheels "$work/site" "$work/new"
  cp "$requirements" "$work/new"
  put_in_place "$work/new"
}
