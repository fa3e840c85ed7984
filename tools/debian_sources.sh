# shellcheck shell=bash
# shellcheck disable=SC2154  # the script sets them
# Sourced by the scripts beside it, after apt.sh: Debian's source packages, from where apt gets its packages.
# apt compares them with what Debian has signed. Needs no root. The script sets
#
#   work          a folder of its own, for lists and sources; the sources of NAME will be in $work/sources/NAME
#   without       what cannot be had without the sources, and what to do then

# Prints Debian's entries of apt's lists for sources. Entries for packages count too, since their mirrors often have both.
write_source_lists() {
  local entry file
  mkdir -p "$work/apt/parts"
  apt-get indextargets --format '$(ORIGIN) $(SOURCESENTRY)' |
    awk '$1 == "Debian" { sub(/:[0-9]+$/, "", $2); print $2 }' | sort -u | while read -r file; do
    entry=$work/apt/parts/$(basename "$file")
    case $file in
      *.sources) sed 's/^Types:.*/Types: deb-src/' "$file" > "$entry" ;;
      *) sed -nE 's/^deb(-src)?[[:space:]]/deb-src /p' "$file" > "${entry%.list}.list" ;;
    esac
  done
}

# own_apt ARGUMENT...: apt-get with lists of its own.
own_apt() {
  apt-get --quiet -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$work/apt/parts" \
    -o Dir::State="$work/apt/state" -o Dir::State::status=/var/lib/dpkg/status -o Dir::Cache="$work/apt/cache" \
    -o APT::Sandbox::User= "$@"
}

no_sources=3   # exit status

# fetch_sources NAME[=VERSION]...: of source packages. Ends the script where apt has none.
fetch_sources() { fetch "--tar-only --diff-only" "$@"; }

# fetch_releases NAME[=VERSION]...: the same without Debian's patches.
fetch_releases() { fetch --tar-only "$@"; }

# fetch "OPTION..." NAME...: the parts of source packages that these options of `apt-get source` choose.
fetch() (
  local options=$1
  shift
  write_source_lists
  mkdir -p "$work"/apt/{state/lists,cache/archives}/partial "$work/sources"
  fetch_parts "$options" "$@" > "$work/fetch.log" 2>&1 || {
    grep -qE "404|deb-src|Unable to find|find version" "$work/fetch.log" || fail "apt cannot fetch the sources of $*. It says:
$(tail -n 5 "$work/fetch.log")
Once it can, try again."
    say "apt has no sources of $*. It says:
$(tail -n 5 "$work/fetch.log")
The mirror of Debian's packages may have newer versions by now: run apt-get update and apt-get upgrade, and
try again. Or it has no source packages: add a mirror that has them to /etc/apt/sources.list.d, with
\"Types: deb-src\", run apt-get update, and try again. $without" >&2
    exit $no_sources
  }
)

fetch_parts() {
  local option
  own_apt update && cd "$work/sources" || return
  for option in $1; do
    own_apt source --download-only "$option" "${@:2}" || return
  done
}

# The release, and Debian's patches on top.
unpack_sources() {
  local release name
  for release in "$work"/sources/*.orig.tar.*; do
    [[ $release != *.asc ]] || continue   # its signature
    name=$(basename "$release")
    name=${name%%_*}
    mkdir "$work/sources/$name"
    tar -x -f "$release" -C "$work/sources/$name" --strip-components=1
    tar -x -f "$work/sources/$name"_*.debian.tar.* -C "$work/sources/$name"
    apply_patches "$work/sources/$name" > "$work/unpack.log" 2>&1 ||
      fail "Debian's patches of $name do not apply: $(tail -n 3 "$work/unpack.log")"
  done
}

apply_patches() (
  local patch
  cd "$1" || return 1
  [[ -s debian/patches/series ]] || return 0
  sed -E '/^(#|$)/d' debian/patches/series | while read -r patch _; do
    patch --quiet --strip=1 < "debian/patches/$patch" || exit 1
  done
)
