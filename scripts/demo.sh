#!/usr/bin/env bash
# The demonstration: real commands, each shown before it runs, so that it can be repeated:
# demo.sh WIRELOOM. Software needs a C compiler alone, so it comes first; the tools for hardware and
# for multiprocessors are fetched while it is built and shown.
set -euo pipefail
cd "$(dirname "$0")/.."

wireloom=$1
tables=programs/tables/demo.tables
captures=.cache/data/pathspider/usr/lib/python3/dist-packages/pathspider/tests/data
prefixes=.cache/data/pyasn/usr/lib/python3/dist-packages/data/ipasn6_20151101.dat.gz
out=out/demo
rm -rf "$out"
mkdir -p "$out"
begin=$SECONDS

"${MAKE:-make}" --no-print-directory data > "$out/data.log" 2>&1 &
data=$!
(scripts/cross-tools.sh && scripts/hardware-tools.sh) > "$out/tools.log" 2>&1 &
tools=$!
trap 'kill "$data" "$tools" 2>/dev/null || true' EXIT

"${MAKE:-make}" --no-print-directory build

# Waits for what is fetched: fetched PROCESS LOG SENTENCE. The sentence is for when it fails.
fetched() {
  wait "$1" || {
    cat "$2" >&2
    echo "$3 See docs/installing.md." >&2
    exit 2
  }
}

title() { printf '\n\033[1m%s\033[0m\n' "$*"; }

# Shows a command, then runs it.
try() {
  printf '$ %s\n' "$*"
  "$@"
}

title "1. A router, written in Loom C"
try "$wireloom" check programs/router.loom
try "$wireloom" explain programs/router.loom --svg "$out/router.svg" --json "$out/router.json" > "$out/router.txt"
echo "   steps, splits and costs are in $out/router.txt, the step graph in $out/router.svg"

fetched "$data" "$out/data.log" "The rest needs routing tables and captures."
title "2. The Internet's routing table of 1 November 2015"
try "$wireloom" tables programs/router.loom --tables "$tables"

title "3. A capture of real traffic, natively and on golden: every packet compared"
try "$wireloom" verify programs/router.loom --on native --tables "$tables" --in "$captures/real.pcap" \
  --json "$out/real.json"

title "4. A million packets of IPv4, IPv6 and one to four labels of MPLS, likewise"
try "$wireloom" traffic --packets 1000000 --mix ipv4=5,ipv6=3,mpls1..4=2 --labels 16..79 --sizes 64 --ports 16 \
  --prefixes "$prefixes" --source-prefixes "$prefixes" --out "$out/mixed.pcapng"
try "$wireloom" verify programs/router.loom --on native --tables "$tables" --in "$out/mixed.pcapng" \
  --json "$out/mixed.json"

title "5. Natively, with what came out and the busiest flows"
try "$wireloom" run programs/router.loom --on native --tables "$tables" --in "$out/mixed.pcapng" \
  --out "$out/forwarded.pcapng" --dump flows --rows 5 --json "$out/run.json"

echo "   (a flow counter's number is the class of the source times 256 plus the class of the destination)"

fetched "$tools" "$out/tools.log" "The software parts have run; the rest needs the tools."
title "6. The same router as hardware: 2 clusters of 2 engines of 4 threads in SystemVerilog, simulated by Verilator"
try "$wireloom" traffic --packets 20000 --mix ipv4=5,ipv6=3,mpls1..4=2 --labels 16..79 --sizes 64 --ports 16 --seed 6 \
  --prefixes "$prefixes" --source-prefixes "$prefixes" --out "$out/np.pcapng"
try "$wireloom" build programs/router.loom --on np-2-2-4 --tables "$tables" -o "$out/np"
try "$wireloom" verify programs/router.loom --on np-2-2-4 --tables "$tables" --in "$out/np.pcapng" --json "$out/np.json"
echo "   (the model is kept in .cache/np: the next run begins at once)"

title "7. The same program compiled for ARM, on a simulated chip of 16 processors of 8 threads on a network (the StepNP paper's for 2.5 Gb/s)"
try "$wireloom" verify programs/router.loom --on mpsoc-oc48 --tables "$tables" --in "$out/np.pcapng" --json "$out/mpsoc.json"

title "8. The same program as microcode, on a simulated IXP1200: six microengines of four threads, the steps in two control stores"
try "$wireloom" traffic --packets 5000 --mix ipv4=5,ipv6=3,mpls1..4=2 --labels 16..79 --sizes 64 --ports 8 --rate 0.08Mpps --seed 8 \
  --prefixes "$prefixes" --source-prefixes "$prefixes" --out "$out/ixp.pcapng"
try "$wireloom" verify programs/router.loom --on ixp1200 --tables "$tables" --in "$out/ixp.pcapng" --json "$out/ixp.json"

title "9. The same program on a simulated RAW chip: its steps on three tiles, which hand packets on over the network"
try "$wireloom" verify programs/router.loom --on raw-3 --tables "$tables" --in "$out/ixp.pcapng" --json "$out/raw.json"

title "10. Live: two network namespaces, the kernel's routes, the kernel for 3 seconds and then the router for 10"
try scripts/demo-live.sh "$wireloom" "$out"

title "Done in $((SECONDS - begin)) s. In $out:"
ls -1 "$out"
cat <<END

Try next:
  $wireloom explain programs/router.loom --ir split | less
  $wireloom run programs/flowcount.loom --in $captures/real.pcap --dump flows --rows 10
  $wireloom bench native-ipv4 golden-ipv4
  $wireloom build programs/router.loom --on np-2-2-4 --tables $tables --area=xc7 -o $out/np  # its LUTs, in minutes
  less $out/np/README.md
END
