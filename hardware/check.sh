#!/usr/bin/env bash
# Checks the templates with Verilator alone, without the rest of Wireloom: lints every module and
# runs the test benches, all or those named. Needs Verilator 5.40 or later; VERILATOR names another
# program. Writes into BUILD, or a temporary folder that it removes.
#
#     hardware/check.sh                     # lint, with either reset, and all benches
#     hardware/check.sh wl_fifo_tb          # one bench
#     RESET=asynchronous hardware/check.sh wl_fifo_tb      # with the asynchronous reset
set -euo pipefail
cd "$(dirname "$0")"
verilator=${VERILATOR:-verilator}
command -v "$verilator" >/dev/null || {
  echo "check.sh: $verilator is not in PATH; install Verilator, or name it: VERILATOR=/path/to/verilator" >&2
  exit 2
}
if [ -z "${BUILD:-}" ]; then
  BUILD=$(mktemp -d)
  trap 'rm -rf "$BUILD"' EXIT
fi
mkdir -p "$BUILD"

# A Verilator that was never configured, such as PyPI's, does not know the compiler's options: benches
# need C++20, and those of several files the option for precompiled headers.
make=()
makefile=$("$verilator" --getenv VERILATOR_ROOT)/include/verilated.mk
unknown() { [ -f "$makefile" ] && grep -q "^$1 = *\$" "$makefile"; }
if unknown CFG_CXXFLAGS_PCH_I; then make=(-MAKEFLAGS CFG_CXXFLAGS_PCH_I=-include); fi
if unknown CFG_CXXFLAGS_STD_NEWEST; then export CXXFLAGS="${CXXFLAGS:---std=c++20 -DVL_TIME_CONTEXT}"; fi

reset=()
case ${RESET:-synchronous} in
  synchronous) ;;
  asynchronous) reset=(-DWL_ASYNCHRONOUS_RESET) ;;
  *) echo "check.sh: RESET is synchronous or asynchronous, not '$RESET'" >&2; exit 2 ;;
esac

folders=(-I.) # wl_reset.svh
for folder in flow memory engine np rig; do folders+=(-y "$folder"); done

benches=("$@")
for bench in "${benches[@]}"; do
  [ -f "tests/$bench.sv" ] || { echo "check.sh: there is no tests/$bench.sv" >&2; exit 2; }
done
if [ ${#benches[@]} = 0 ]; then
  for module in flow/*.sv memory/*.sv engine/*.sv np/*.sv rig/*.sv; do
    name=$(basename "$module" .sv)
    for define in "" -DFORMAL -DWL_ASYNCHRONOUS_RESET; do
      "$verilator" --lint-only -Wall ${define:+"$define"} "${folders[@]}" wl_pkg.sv "$module" --top-module "$name"
    done
  done
  echo "lint: no warnings"
  for bench in tests/*_tb.sv; do benches+=("$(basename "$bench" .sv)"); done
fi

failed=()
for bench in "${benches[@]}"; do
  out=$BUILD/$bench
  # Registers start with random values; the seed is fixed, so failures are reproducible.
  if "$verilator" --binary --timing --assert -DFORMAL -CFLAGS -O1 --x-initial unique -Wno-lint -Wno-style -j 0 \
      "${make[@]}" "${reset[@]}" "${folders[@]}" -y tests wl_pkg.sv tests/tb_pkg.sv "tests/$bench.sv" --top-module "$bench" \
      --Mdir "$out" >"$BUILD/$bench.log" 2>&1 &&
    "$out/V$bench" +verilator+seed+1 +verilator+rand+reset+2 >>"$BUILD/$bench.log" 2>&1 &&
    grep -q PASS "$BUILD/$bench.log"; then
    echo "$bench: passed"
  else
    echo "$bench: FAILED" && tail -n 20 "$BUILD/$bench.log"
    failed+=("$bench")
  fi
done
echo "${#benches[@]} bench(es), ${#failed[@]} failed"
[ ${#failed[@]} = 0 ]
