#!/usr/bin/env bash
# Forwards live packets between two network namespaces, first by the kernel, then by the router in
# Loom C, and shows what arrives in each second: demo-live.sh WIRELOOM FOLDER. Everything that it
# makes in the system is gone when it ends. Where it may not do that it says why, and ends with 0.
#
#   left: l0 ── r0 :router: r1 ── d0 :right
#
# Root does all of that. Other users get namespaces of their own, where programs at interfaces are not
# allowed: there the commands have TAP devices, and bridges connect these with the interfaces.
#
#   left: tap ═ l0 ── r0 ═ tap :router: tap ═ r1 ── d0 :right
set -euo pipefail
cd "$(dirname "$0")/.."

wireloom=$1
out=$2
kernel_seconds=3
own_seconds=10
name=wireloom-demo-$$

left_out() {
  echo "   left out: $*"
  exit 0
}

[ "$(uname -s)" = Linux ] || left_out "live forwarding needs Linux"
command -v ip > /dev/null || left_out "there is no command 'ip' (the Debian package iproute2)"
way=interfaces
if [ "${WIRELOOM_DEMO_INSIDE:-}" ]; then
  way=taps
  # The names of network namespaces are files there.
  mount -t tmpfs none /run
elif [ "$(id -u)" != 0 ]; then
  [ -w /dev/net/tun ] || left_out "without root it needs /dev/net/tun, which this user may not open"
  mkdir -p "$out"
  inside=(unshare --user --map-root-user --net --mount)
  "${inside[@]}" true 2> "$out/live.log" ||
    left_out "it needs root, or namespaces of the user's own: $(tail -1 "$out/live.log")"
  WIRELOOM_DEMO_INSIDE=1 exec "${inside[@]}" scripts/demo-live.sh "$@"
fi

finish() {
  for process in $(jobs -p); do
    kill -TERM "$process" 2> /dev/null || true
  done
  wait 2> /dev/null || true
  for space in left router right; do
    ip netns delete "$name-$space" 2> /dev/null || true
  done
}
trap finish EXIT

in_space() { ip netns exec "$name-$1" "${@:2}"; }

for space in left router right; do
  ip netns add "$name-$space" 2> "$out/live.log" || left_out "no network namespace: $(tail -1 "$out/live.log")"
done
# A cable: cable SPACE INTERFACE MAC INTERFACE_OF_THE_ROUTER MAC ADDRESS_OF_THE_ROUTER.
cable() {
  ip -n "$name-router" link add "$4" address "$5" type veth peer name "$2" address "$3" netns "$name-$1"
  ip -n "$name-router" link set "$4" up
  ip -n "$name-router" address add "$6" dev "$4"
  ip -n "$name-$1" link set "$2" up
}
cable left l0 02:00:00:00:00:01 r0 02:00:00:00:00:02 198.51.100.1/24
cable right d0 02:00:00:00:00:04 r1 02:00:00:00:00:03 203.0.113.1/24
# The neighbour takes all packets, and needs no ARP.
ip -n "$name-router" neighbour add 203.0.113.2 lladdr 02:00:00:00:00:04 dev r1 nud permanent
ip -n "$name-router" route add 198.18.0.0/15 via 203.0.113.2
in_space router sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1

# What is sent: 1,000 IPv4 packets of 64 bytes, again and again, by an engine of one line.
echo 198.18.0.0/15 > "$out/live.prefixes"
echo 198.51.100.128/26 > "$out/live.sources"
cat > "$out/send.loom" << 'END'
engine send() { step all { packet.egress = 1; finish; } }
END
"$wireloom" traffic --packets 1000 --sizes 64 --mix ipv4=1 --prefixes "$out/live.prefixes" \
  --source-prefixes "$out/live.sources" --dst-mac 02:00:00:00:00:02 --src-mac 02:00:00:00:00:01 \
  --out "$out/live.pcapng" > "$out/live.log"

# Starts a command of `wireloom forward` in a namespace, and waits until it forwards.
start() {
  local space=$1 log=$2
  ip netns exec "$name-$space" "$wireloom" forward "${@:3}" > "$log" 2>&1 &
  for _ in $(seq 300); do
    grep -q '^forwarding' "$log" && return 0
    kill -0 $! 2> /dev/null || break
    sleep 0.1
  done
  left_out "$(tail -1 "$log")"
}

# The packets that an interface has sent or received.
packets() { in_space "$1" cat "/sys/class/net/$2/statistics/$3_packets"; }

# Shows what arrives in each of so many seconds: watch WAY SECONDS.
watch() {
  local sent arrived sent_now arrived_now
  sent=$(packets left l0 tx)
  arrived=$(packets right d0 rx)
  for second in $(seq "$2"); do
    sleep 1
    sent_now=$(packets left l0 tx)
    arrived_now=$(packets right d0 rx)
    printf '   %-8s %6d  %12d  %12d\n' "$1" "$second" $((sent_now - sent)) $((arrived_now - arrived))
    sent=$sent_now
    arrived=$arrived_now
  done
}

# Connects an interface with the TAP device of a command: bridge SPACE INTERFACE TAP. The interface gets
# a MAC address that no frame is for. The bridge passes on what arrives at one to the other, and learns
# nothing: the sender returns what it gets.
bridge() {
  ip -n "$name-$1" link add "bridge-$2" type bridge
  ip -n "$name-$1" link set "bridge-$2" up
  ip -n "$name-$1" address flush dev "$2"
  ip -n "$name-$1" link set "$2" address "02:00:00:00:01:0${2: -1}"
  for device in "$2" "$3"; do
    ip -n "$name-$1" link set "$device" up master "bridge-$2"
    ip -n "$name-$1" link set "$device" type bridge_slave learning off
  done
}

source=("$out/send.loom" --static --port "pcap-loop:$out/live.pcapng@max")
router=(programs/router.loom --set MULTIPATH=false)
if [ $way = interfaces ]; then
  start left "$out/send.log" "${source[@]}" --port l0
else
  start left "$out/send.log" "${source[@]}" --port tap:source
  bridge left l0 source
fi
printf '   by       second  packets sent  that arrived\n'
watch kernel $kernel_seconds
if [ $way = interfaces ]; then
  start router "$out/forward.log" "${router[@]}" --port r0 --port r1
else
  cat > "$out/live.tables" << 'END'
table ports
0 mac=02:00:00:00:00:02
1 mac=02:00:00:00:00:03
table next_hops
0 port=1 dst=02:00:00:00:00:04 src=02:00:00:00:00:03 mtu=1500
table destinations4
198.18.0.0/15 next_hop=0 kind=1
table sources4
0.0.0.0/0 kind=1
END
  router+=(--static --tables "$out/live.tables")
  start router "$out/forward.log" "${router[@]}" --port tap:t0 --port tap:t1
  bridge router r0 t0
  bridge router r1 t1
fi
watch wireloom $own_seconds
if [ $way = interfaces ]; then
  echo "   (the sender offers more than either can forward, and full queues lose the rest; sender, forwarding and" \
    "receiver share $(nproc) cores, and wireloom copies each packet from and to its veth interface)"
else
  echo "   (not root: wireloom has TAP devices and bridges in its way, a system call for each packet at each;" \
    "the sender offers more than either can forward, and full queues lose the rest; all share $(nproc) cores)"
fi
