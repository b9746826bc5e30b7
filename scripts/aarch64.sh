#!/usr/bin/env bash
# Tests native engines on 64-bit ARM: aarch64.sh [ARGUMENT]... builds the tests of wireloom-native for
# it and runs them, and the engines that they compile, in QEMU. Arguments go to `cargo test`. On such
# a computer `make test` does that by itself.
set -euo pipefail
cd "$(dirname "$0")/.."

target=aarch64-unknown-linux-gnu
[ "$(uname -s)" = Linux ] && [ "$(uname -m)" != aarch64 ] || exit 0
scripts/need.sh aarch64
if ! [ -d "$(rustc --print sysroot)/lib/rustlib/$target" ] && ! rustup --quiet target add "$target"; then
  echo "error: Rust's library for $target is missing: rustup target add $target." >&2
  exit 2
fi
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64 -L /usr/aarch64-linux-gnu"
# Build scripts and their C are for this computer, engines for that one.
export CC=aarch64-linux-gnu-gcc HOST_CC=cc WIRELOOM_NATIVE_CFLAGS=-march=armv8-a
# Left out: under QEMU a program that does not start is no error, the new process ends instead; and the
# sanitizers are those of this computer's compiler.
exec cargo test --locked --package wireloom-native --target "$target" "$@" -- \
  --skip build_errors_say_what_was_tried --skip does_what_c_leaves_undefined
