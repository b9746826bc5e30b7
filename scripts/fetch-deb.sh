#!/usr/bin/env bash
# Unpacks the data of a Debian package, without installing it: fetch-deb.sh NAME FOLDER
# NAME is that of the folder under .cache/data; the package's name follows from it. The file FOLDER/.complete is
# written last: where it stands, nothing is to be done.
set -euo pipefail

name=$1 folder=$2
case $name in
  pyasn) package=python3-pyasn ;;    # Internet routing tables
  pathspider) package=pathspider ;;  # captures
  *) echo "fetch-deb.sh: unknown data '$name'" >&2; exit 2 ;;
esac

"$(dirname "$0")/need.sh" data
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
options=(-qq)
if [ "$(id -u)" = 0 ]; then
  options+=(-o APT::Sandbox::User=root)
fi

download() { (cd "$scratch" && apt-get download "${options[@]}" "$package"); }
if ! download 2>/dev/null; then
  echo "fetching Debian's package lists" >&2
  if [ "$(id -u)" = 0 ]; then
    apt-get update -qq
  elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    sudo -n apt-get update -qq
  fi
  download || {
    echo "error: the Debian package '$package' cannot be downloaded: run 'apt-get update' as root, then try again." >&2
    exit 2
  }
fi
mkdir -p "$folder"
dpkg-deb -x "$scratch"/*.deb "$folder"
touch "$folder/.complete"
echo "unpacked $package into $folder"
