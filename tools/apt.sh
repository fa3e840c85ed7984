# shellcheck shell=bash
# Sourced by the scripts beside it: Debian's packages, as root or through sudo.

say() { echo "install-deps: $*"; }

fail() {
  echo "install-deps: $*" >&2
  exit 1
}

as_root() {
  if [[ $(id -u) == 0 ]]; then
    env DEBIAN_FRONTEND=noninteractive "$@"
  else
    sudo env DEBIAN_FRONTEND=noninteractive "$@"
  fi
}

# can_install PACKAGE...: whether the package lists here know them.
can_install() { apt-get install --simulate --no-install-recommends "$@" >/dev/null 2>&1; }

# The download comes first, by itself: how long it takes is up to the network.
download_and_install() {
  local apt_install=(apt-get install --yes --quiet --no-install-recommends -o Dpkg::Use-Pty=0) start=$SECONDS downloaded
  as_root "${apt_install[@]}" --download-only "$@" || return
  downloaded=$SECONDS
  as_root "${apt_install[@]}" "$@" || return
  say "the download has taken $((downloaded - start)) s, and unpacking $((SECONDS - downloaded)) s"
}

install_packages() {
  # A fresh system has no package lists, an old one may have lists that name files now gone.
  can_install "$@" || as_root apt-get update --quiet
  download_and_install "$@" && return
  echo "install-deps: trying once more with fresh package lists" >&2
  as_root apt-get update --quiet && download_and_install "$@"
}

# list_missing PACKAGE...: prints the packages that are not installed.
list_missing() {
  local installed
  installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "$@" 2>/dev/null |
    awk '$2 == "installed" { print $1 }' || true)
  printf '%s\n' "$@" | grep -vxF -f <(printf '%s\n' "$installed") || true
}

# install_missing PACKAGE...: says what it installs; says and does nothing when nothing is missing.
install_missing() {
  local missing
  mapfile -t missing < <(list_missing "$@")
  [[ ${#missing[@]} -gt 0 ]] || return 0
  if [[ $(id -u) != 0 ]] && ! command -v sudo >/dev/null; then
    fail "needs root to install: ${missing[*]}
Run it as root, or install sudo."
  fi
  say "installing ${missing[*]} and what they depend on"
  install_packages "${missing[@]}" ||
    fail "apt-get could not install the packages; its messages are above. Once that is mended, run this again."
  mapfile -t missing < <(list_missing "$@")
  [[ ${#missing[@]} == 0 ]] || fail "apt-get reported success, but these are still missing: ${missing[*]}"
}
