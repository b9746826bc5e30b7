#!/usr/bin/env bash
# Unpacks the data of a Debian package, without installing it: fetch-deb.sh NAME FOLDER
# NAME is that of the folder under .cache/data. Versions and hashes are pinned: results depend on the
# data. The file FOLDER/.complete is written last; where it exists, nothing is to be done.
set -euo pipefail

name=$1 folder=$2
case $name in
  pyasn) # Internet routing tables
    package=python3-pyasn version=1.6.1-3+b3 pool=p/pyasn architecture=amd64
    hash=02aed0d88c5c002463636aeaab4ec541a8160554b9ce1f990867206fccc7c076
    ;;
  pathspider) # captures
    package=pathspider version=2.0.1-3 pool=p/pathspider architecture=amd64
    hash=1e4e9c0aae8b297c6539fdf6cb8abaea0990341558567b111152bfc73bbca5c9
    ;;
  *) echo "fetch-deb.sh: unknown data '$name'" >&2; exit 2 ;;
esac
file=${package}_${version}_${architecture}.deb

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Through apt: the package of Debian's own mirrors, whatever the computer's architecture.
with_apt() {
  local options=(-qq)
  command -v apt-get >/dev/null && [ "$(dpkg --print-architecture)" = "$architecture" ] || return 1
  if [ "$(id -u)" = 0 ]; then
    options+=(-o APT::Sandbox::User=root)
  fi
  (cd "$scratch" && apt-get download "${options[@]}" "$package=$version")
}
update() {
  echo "fetching Debian's package lists" >&2
  if [ "$(id -u)" = 0 ]; then
    apt-get update -qq
  elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    sudo -n apt-get update -qq
  fi
}

# Without apt: from a mirror that the user names.
with_curl() {
  [ -n "${DEBIAN_MIRROR:-}" ] && command -v curl >/dev/null || return 1
  curl -fsSL -o "$scratch/$file" "$DEBIAN_MIRROR/pool/main/$pool/$file"
}

if ! with_apt 2>/dev/null && ! with_curl; then
  { command -v apt-get >/dev/null && update && with_apt; } || {
    echo "error: version $version of the Debian package '$package' cannot be downloaded: run 'apt-get update' as root" \
      "on Debian 12, or name a Debian mirror (the folder that has 'pool') in DEBIAN_MIRROR, or unpack the package" \
      "in $folder yourself and create $folder/.complete." >&2
    exit 2
  }
fi
package_file=$(find "$scratch" -name '*.deb' | head -n 1)
if command -v sha256sum >/dev/null; then
  found=$(sha256sum "$package_file")
else
  found=$(shasum -a 256 "$package_file")
fi
if [ "${found%% *}" != "$hash" ]; then
  echo "error: $(basename "$package_file") is not the file that is expected: its SHA-256 is ${found%% *}, not $hash." >&2
  exit 2
fi

# Unpacked elsewhere and then moved: an interrupted run leaves nothing half done.
mkdir "$scratch/data"
if command -v dpkg-deb >/dev/null; then
  dpkg-deb -x "$package_file" "$scratch/data"
else
  # A package is an archive of archives; bsdtar, which is macOS's tar, reads both.
  (cd "$scratch" && tar -xf "$package_file" && tar -xf data.tar.* -C data) || {
    echo "error: $file cannot be unpacked: install dpkg-deb." >&2
    exit 2
  }
fi
mkdir -p "$folder"
cp -R "$scratch/data/." "$folder/"
touch "$folder/.complete"
echo "unpacked $package $version into $folder"
