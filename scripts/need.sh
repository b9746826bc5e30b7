#!/usr/bin/env bash
# Provides the tools that a purpose needs: need.sh PURPOSE...
# A missing Debian package is installed where that is possible without a password. Otherwise one
# sentence says what to install.
set -euo pipefail

# Runs a command as root, if that is possible without asking for a password.
as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    sudo -n "$@"
  else
    return 77
  fi
}

# install_packages PACKAGE...: through apt, fetching package lists if there are none. One at a time:
# two installations at once would refuse each other. What apt starts does not inherit the lock.
install_packages() {
  command -v apt-get >/dev/null || return 1
  echo "installing $*" >&2
  {
    if command -v flock >/dev/null; then
      flock 9
    fi
    install_now "$@" 9>&-
  } 9<"$0"
}

install_now() {
  local quiet=(-qq -o=Dpkg::Use-Pty=0)
  local install=(env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${quiet[@]}")
  as_root "${install[@]}" "$@" >/dev/null 2>&1 && return
  as_root apt-get update "${quiet[@]}" >/dev/null 2>&1 || return 1
  as_root "${install[@]}" "$@" >/dev/null
}

# need COMMAND PACKAGE: the command, from that Debian package.
need() {
  command -v "$1" >/dev/null || [ -x "/usr/sbin/$1" ] && return
  install_packages "$2" && return
  echo "error: '$1' is missing: install it (on Debian: apt-get install $2)." >&2
  exit 2
}

for purpose in "$@"; do
  case $purpose in
    build)
      if ! command -v cargo >/dev/null; then
        echo "error: 'cargo' is missing: install Rust 1.90 or newer with rustup (https://rustup.rs)." >&2
        exit 2
      fi
      need cc gcc
      ;;
    test)
      # The comparison with a router made of network namespaces; other systems have none.
      if [ "$(uname -s)" = Linux ]; then
        need ip iproute2
        need unshare util-linux
        # The machine xdp, and live forwarding in the kernel.
        if ! { command -v bpf-gcc && [ -x /usr/sbin/ethtool ]; } >/dev/null && ! install_packages gcc-bpf ethtool; then
          echo "note: engines in the kernel are not tested (apt-get install gcc-bpf ethtool)." >&2
        fi
      fi
      ;;
    hardware)
      # Verilator makes C++ of a design and builds it; itself it starts with a Perl script.
      need make make
      need g++ g++
      need perl perl
      # Every simulation compiles the same runtime.
      if ! command -v ccache >/dev/null && ! install_packages ccache; then
        echo "note: ccache is missing: simulations take longer to build (apt-get install ccache)." >&2
      fi
      # Its runtime writes waves with them.
      if [ ! -e /usr/include/lz4.h ] || [ ! -e /usr/include/zlib.h ]; then
        install_packages liblz4-dev zlib1g-dev ||
          echo "note: simulations cannot write waves: install liblz4-dev and zlib1g-dev (apt-get install liblz4-dev zlib1g-dev)." >&2
      fi
      ;;
    icarus)
      # What Icarus Verilog is fetched and built with.
      need curl curl
      need make make
      need g++ g++
      need bison bison
      need flex flex
      need gperf gperf
      ;;
    dist)
      # What makes packages.
      need dpkg-shlibdeps dpkg-dev
      need objdump binutils
      ;;
    dist-try)
      # Debian systems with nothing else in them, in which packages are installed.
      need debootstrap debootstrap
      need ip iproute2
      need unshare util-linux
      ;;
    python)
      # Programs of PyPI, in a virtual environment.
      need python3 python3
      if ! python3 -c 'import venv, ensurepip' 2>/dev/null && ! /usr/bin/python3 -c 'import venv, ensurepip' 2>/dev/null &&
        ! install_packages python3-venv; then
        echo "error: Python's module 'venv' is missing: install the Debian package 'python3-venv' (apt-get install python3-venv)." >&2
        exit 2
      fi
      ;;
    cross)
      # Compilers and disassemblers for the processors that machines simulate.
      need arm-none-eabi-gcc gcc-arm-none-eabi
      need riscv64-unknown-elf-gcc gcc-riscv64-unknown-elf
      ;;
    aarch64)
      # A compiler for 64-bit ARM, and what runs programs for it.
      need aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu
      [ -e /usr/aarch64-linux-gnu/include/stdio.h ] || install_packages libc6-dev-arm64-cross
      need qemu-aarch64 qemu-user
      ;;
    tiles)
      # The compiler for the tiles of raw.
      need mips-linux-gnu-gcc gcc-mips-linux-gnu
      ;;
    page)
      # The page of `wireloom monitor` is built with it.
      need node nodejs
      need npm npm
      ;;
    browser)
      # The page is tested in it.
      if ! command -v chromium >/dev/null && ! install_packages chromium; then
        echo "note: the page of the monitor is not tested (apt-get install chromium)." >&2
      fi
      ;;
    bench)
      # The peer that longest-prefix matching is measured against.
      need pkg-config pkg-config
      # The rig of live forwarding.
      if [ "$(uname -s)" = Linux ] &&
        ! { command -v bpf-gcc && [ -x /usr/sbin/ethtool ] && [ -e /usr/include/bpf/bpf.h ]; } >/dev/null &&
        ! install_packages gcc-bpf libbpf-dev ethtool; then
        echo "note: live forwarding is not measured (apt-get install gcc-bpf libbpf-dev ethtool)." >&2
      fi
      if ! command -v valgrind >/dev/null && ! install_packages valgrind; then
        echo "note: valgrind is missing: native engines are not profiled (apt-get install valgrind)." >&2
      fi
      if ! pkg-config --exists libdpdk && ! install_packages libdpdk-dev; then
        echo "note: libdpdk-dev is missing: the comparison with DPDK's rte_fib is left out (apt-get install libdpdk-dev)." >&2
      fi
      ;;
    *)
      echo "need.sh: unknown purpose '$purpose'" >&2
      exit 2
      ;;
  esac
done
