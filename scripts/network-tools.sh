#!/usr/bin/env bash
# Provides what the tests of live forwarding run beside it: network-tools.sh [FOLDER]. BIRD (OSPF,
# BGP), iperf3, nft and traceroute are unpacked from Debian packages into FOLDER/network (by default
# .cache/tools), once: installing them would start a routing daemon here. Where that is not possible a
# note says so, and the tests that need them test nothing.
set -euo pipefail
mkdir -p "${1:-$(dirname "$0")/../.cache/tools}"
tools=$(cd "${1:-$(dirname "$0")/../.cache/tools}" && pwd)

packages=(bird2 libssh-gcrypt-4 libreadline8 iperf3 libiperf0 libsctp1 nftables libnftables1 libnftnl11
  libmnl0 libjansson4 libxtables12 libedit2 libbsd0 libmd0 traceroute)

[ "$(uname -s)" = Linux ] && ! [ -x "$tools/network/usr/sbin/bird" ] || exit 0
if ! command -v apt-get >/dev/null || ! command -v dpkg-deb >/dev/null; then
  echo "note: BIRD, iperf3, nft and traceroute are not there: some tests of live forwarding are left out" >&2
  exit 0
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
if ! (cd "$scratch" && apt-get download -qq "${packages[@]}" >/dev/null 2>&1); then
  echo "note: the Debian packages of BIRD, iperf3, nft and traceroute cannot be downloaded: run 'apt-get" \
    "update' as root; until then some tests of live forwarding are left out" >&2
  exit 0
fi
for package in "$scratch"/*.deb; do
  dpkg-deb -x "$package" "$scratch/network"
done
rm -rf "$tools/network"
mv "$scratch/network" "$tools/network"
