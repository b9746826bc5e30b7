#!/usr/bin/env bash
# Checks the dependencies' licences, sources and duplicates (these need no network), and the advisories of RustSec where
# their database can be reached or was fetched before. What has passed is noted in deny.sum; with --changed nothing is
# done while the note holds.
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C # the order of files below

manifests() {
  sha256sum deny.toml Cargo.lock Cargo.toml crates/*/Cargo.toml
}

if [ "${1:-}" = --changed ]; then
  if manifests | cmp --silent - deny.sum; then
    exit
  fi
  echo "dependencies have changed since they were checked" >&2
fi

version=0.20.2
tool=.cache/tools/bin/cargo-deny
if ! [ -x "$tool" ] || [ "$("$tool" --version)" != "cargo-deny $version" ]; then
  echo "building cargo-deny $version, once (about a minute on two cores)" >&2
  # Unoptimised and not to be debugged: it runs for a second, and an optimised build of it takes many times as long. Without its default
  # features it needs no TLS library; it fetches through the git command.
  CARGO_PROFILE_DEV_DEBUG=false cargo install cargo-deny --version "$version" --locked --no-default-features --debug --quiet \
    --root .cache/tools --target-dir .cache/tools/build
  rm -rf .cache/tools/build
fi

"$tool" --log-level error check --hide-inclusion-graph licenses bans sources
if GIT_TERMINAL_PROMPT=0 "$tool" --log-level off fetch db >/dev/null 2>&1; then
  "$tool" --log-level error check advisories
else
  echo "=== NOT CHECKED: security advisories. RustSec's database cannot be reached from here. ===" >&2
fi
manifests >deny.sum
