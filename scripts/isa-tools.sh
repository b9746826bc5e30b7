#!/usr/bin/env bash
# Puts Unicorn, which the tests of crates/isa compare with, into a virtual environment,
# .cache/tools/isa, once.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/venv.sh "$PWD/.cache/tools/isa" crates/isa/tests/requirements.txt "Unicorn (about 16 MB)"
