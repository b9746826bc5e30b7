#!/usr/bin/env bash
# Provides the cross compilers for the processors that machines simulate: cross-tools.sh [FOLDER].
# They are installed as Debian packages where that is possible; without the right to install, the
# packages are unpacked in FOLDER/cross (by default .cache/tools/cross), where the command finds them.
set -euo pipefail
mkdir -p "${1:-$(dirname "$0")/../.cache/tools}"
tools=$(cd "${1:-$(dirname "$0")/../.cache/tools}" && pwd)
cd "$(dirname "$0")/.."

compilers=(arm-none-eabi-gcc riscv64-unknown-elf-gcc)
packages=(gcc-arm-none-eabi binutils-arm-none-eabi gcc-riscv64-unknown-elf binutils-riscv64-unknown-elf
  libisl23 libmpc3 libmpfr6)

missing() {
  local compiler
  for compiler in "${compilers[@]}"; do
    command -v "$compiler" >/dev/null || [ -x "$tools/cross/usr/bin/$compiler" ] || return 0
  done
  return 1
}

missing || exit 0
if scripts/need.sh cross 2>/dev/null && ! missing; then
  exit
fi
if ! command -v apt-get >/dev/null || ! command -v dpkg-deb >/dev/null; then
  echo "error: the cross compilers are missing: install GCC 10 or newer for bare ARM and RISC-V, named" \
    "${compilers[*]}, somewhere in PATH. Without them the machines mpsoc do not run; all others do." >&2
  exit 2
fi
echo "unpacking the cross compilers into $tools/cross, once" >&2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
if ! (cd "$scratch" && apt-get download -qq "${packages[@]}" >/dev/null 2>&1); then
  echo "error: the Debian packages ${packages[*]} cannot be downloaded: run 'apt-get update' as root, or" \
    "have the first and the third of them installed." >&2
  exit 2
fi
for package in "$scratch"/*.deb; do
  dpkg-deb -x "$package" "$scratch/cross"
done
mkdir -p "$tools"
rm -rf "$tools/cross"
mv "$scratch/cross" "$tools/cross"
