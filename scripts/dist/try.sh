#!/usr/bin/env bash
# Installs each package in a Debian 12 of its own that has nothing but a C compiler, as its documentation says, and
# forwards packets from there between two hosts: try.sh FOLDER. Needs root; all that it makes is in .cache/dist and in
# namespaces that end with it.
set -euo pipefail
packages=$(realpath "$1")
cd "$(dirname "$0")/../.."
if [ "$(id -u)" != 0 ]; then
  echo "error: packages are tried in namespaces and in systems of their own: run this as root." >&2
  exit 2
fi
scripts/need.sh dist-try

bare=$PWD/.cache/dist/bare
if ! [ -e "$bare/.complete" ]; then
  echo "fetching a bare Debian 12, once" >&2
  rm -rf "$bare"
  mkdir -p "$bare"
  debootstrap --variant=minbase --include=gcc,libc6-dev,python3-venv bookworm "$bare" ${DEBIAN_MIRROR:+"$DEBIAN_MIRROR"} \
    > "$bare.log" 2>&1 || {
    cat "$bare.log" >&2
    echo "error: Debian 12 cannot be fetched: name a mirror (the folder that has 'pool') in DEBIAN_MIRROR." >&2
    exit 2
  }
  touch "$bare/.complete"
fi

# Mounts and networks of one trial end with its process.
for package in "$packages"/*.deb "$packages"/*.whl "$packages"/*.tar.gz; do
  unshare --mount --net --propagation private scripts/dist/try-one.sh "$bare" "$package"
done
