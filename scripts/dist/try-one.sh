#!/usr/bin/env bash
# Installs a package in a copy of a bare system and forwards from there: try-one.sh BARE PACKAGE
# In namespaces of mounts and networks that `try.sh` makes.
set -euo pipefail
bare=$1 package=$2
name=$(basename "$package")

scratch=$(mktemp -d)
hosts=()
finish() {
  kill "${hosts[@]}" $(jobs -p) 2>/dev/null || true
  umount --recursive --lazy "$scratch" 2>/dev/null || true
  rmdir "$scratch"
}
trap finish EXIT
mount -t tmpfs none "$scratch"
mkdir "$scratch/changed" "$scratch/work" "$scratch/root"
mount -t overlay none -o "lowerdir=$bare,upperdir=$scratch/changed,workdir=$scratch/work" "$scratch/root"
root=$scratch/root
mount -t proc none "$root/proc"
mount -t sysfs none "$root/sys"
mount --rbind /dev "$root/dev"
cp "$package" "$root/tmp/"
inside() { chroot "$root" env -i PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin HOME=/root "$@"; }

case $name in
  *.deb) inside dpkg --install "/tmp/$name" > /dev/null ;;
  *.whl)
    inside python3 -m venv /opt/wireloom
    inside /opt/wireloom/bin/pip install --quiet --no-index "/tmp/$name"
    inside ln -s /opt/wireloom/bin/wireloom /usr/local/bin/wireloom
    ;;
  *.tar.gz)
    inside tar -C /usr/local --strip-components 1 -xf "/tmp/$name"
    ;;
esac

# What the command carries runs as another user than root, outside a checkout.
inside useradd --create-home user
as_user() { chroot --userspec=user "$root" env -i PATH=/usr/local/bin:/usr/bin:/bin HOME=/home/user sh -c "cd && $*"; }
as_user wireloom --version > /dev/null
as_user wireloom check wireloom:programs/router.loom > /dev/null
as_user wireloom new mine > /dev/null
as_user "cd mine && wireloom test mine.packets" > /dev/null

# Two hosts, left and right; this namespace is the router. What its kernel forwards is not in the report.
host() { # NAME PORT SUBNET
  unshare --net sleep infinity &
  local process=$!
  hosts+=("$process")
  until [ "$(readlink "/proc/$process/ns/net")" != "$(readlink /proc/self/ns/net)" ]; do :; done
  ip link add "$2" type veth peer name eth0 netns "$process"
  ip address add "$3.1/24" dev "$2"
  ip link set "$2" up
  nsenter --net="/proc/$process/ns/net" sh -c \
    "ip address add $3.2/24 dev eth0 && ip link set eth0 up && ip link set lo up && ip route add default via $3.1"
}
host left port0 10.0.1
host right port1 10.0.2
echo 1 > /proc/sys/net/ipv4/ip_forward

# Not a function: the process that is asked to end is the command itself.
(exec chroot "$root" env -i PATH=/usr/local/bin:/usr/bin:/bin HOME=/root wireloom forward wireloom:programs/router.loom \
  --port port0 --port port1 --set CHECK_SOURCE=false --json /tmp/report.json) > "$scratch/log" 2>&1 &
forwarder=$!
for _ in $(seq 600); do
  grep -q "^forwarding on" "$scratch/log" && break
  kill -0 "$forwarder" 2>/dev/null || { cat "$scratch/log" >&2; exit 1; }
  sleep 0.1
done
nsenter --net="/proc/${hosts[1]}/ns/net" python3 -c '
import socket
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("10.0.2.2", 7))
while True:
    data, peer = server.recvfrom(2048)
    server.sendto(data, peer)
' &
# The first ones go by the kernel, which resolves the neighbours.
nsenter --net="/proc/${hosts[0]}/ns/net" python3 -c '
import socket, time
client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
client.settimeout(0.2)
arrived = 0
for number in range(100):
    client.sendto(b"%d" % number, ("10.0.2.2", 7))
    try:
        client.recv(2048)
        arrived += 1
    except TimeoutError:
        pass
    time.sleep(0.02)
assert arrived >= 90, f"{arrived} of 100 answers arrived"
'
kill -TERM "$forwarder"
wait "$forwarder"
python3 - "$root/tmp/report.json" "$name" <<'PYTHON'
import json, sys
report = json.load(open(sys.argv[1]))
sent = [row["packets"] for row in report["sent"]]
assert len(sent) == 2 and all(packets >= 50 for packets in sent), report["sent"]
print(f"{sys.argv[2]}: installed in a bare Debian 12; {' and '.join(map(str, sent))} packets forwarded")
PYTHON
