#!/usr/bin/env bash
# Checks the dependencies' licences, sources and duplicates (these need no network), and the advisories of RustSec where
# their database can be reached or was fetched before.
set -euo pipefail
cd "$(dirname "$0")/.."

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
