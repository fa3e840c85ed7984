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

install_packages() {
  local apt_install=(apt-get install --yes --quiet --no-install-recommends -o Dpkg::Use-Pty=0)
  # A fresh system has no package lists, an old one may have lists that name files now gone.
  can_install "$@" || as_root apt-get update --quiet
  as_root "${apt_install[@]}" "$@" && return
  echo "install-deps: trying once more with fresh package lists" >&2
  as_root apt-get update --quiet && as_root "${apt_install[@]}" "$@"
}
