#!/usr/bin/env bash
# Builds Icarus Verilog, the four-state simulator of `make test-all`, from its pinned source, once:
# icarus.sh [FOLDER]. FOLDER is .cache/tools by default; the programs are linked into FOLDER/venv/bin,
# where the tests look for the hardware tools. Debian 12 has version 11, which cannot read the benches.
set -euo pipefail
tools=${1:-$(dirname "$0")/../.cache/tools}
mkdir -p "$tools/venv/bin"
tools=$(cd "$tools" && pwd)
cd "$(dirname "$0")/.."

version=13.0
hash=c897bbfa9848688982c6d5c30529fc29d68df0b9ff22ffa73bad89db73a7ce49
file=iverilog_$version.orig.tar.gz
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}

if [ ! -e "$tools/icarus/.complete" ] || ! cmp -s scripts/icarus.sh "$tools/icarus/.complete"; then
  scripts/need.sh icarus
  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch"' EXIT
  if ! curl -fsSL -o "$scratch/$file" "$mirror/pool/main/i/iverilog/$file"; then
    echo "error: the source of Icarus Verilog $version cannot be downloaded: name a Debian mirror (the folder that has" \
      "'pool') in DEBIAN_MIRROR, or put 'iverilog' and 'vvp' of version 13 in $tools/icarus/bin and copy scripts/icarus.sh" \
      "to $tools/icarus/.complete." >&2
    exit 2
  fi
  found=$(sha256sum "$scratch/$file")
  if [ "${found%% *}" != "$hash" ]; then
    echo "error: $file is not the file that is expected: its SHA-256 is ${found%% *}, not $hash." >&2
    exit 2
  fi
  echo "building Icarus Verilog $version in $tools/icarus, once (some minutes)" >&2
  mkdir "$scratch/source"
  tar -xzf "$scratch/$file" -C "$scratch/source" --strip-components=1
  if ! (cd "$scratch/source" && ./configure --quiet --prefix="$tools/icarus" && make -j2 && make install) \
    >"$scratch/log" 2>&1; then
    tail -n 20 "$scratch/log" >&2
    echo "error: Icarus Verilog $version cannot be built; the last lines are above." >&2
    exit 2
  fi
  cp scripts/icarus.sh "$tools/icarus/.complete"
fi
for program in iverilog vvp; do
  ln -sf "$tools/icarus/bin/$program" "$tools/venv/bin/$program"
done
