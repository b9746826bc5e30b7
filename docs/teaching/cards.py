#!/usr/bin/env python3
"""Makes the packets of lab 11, and checks what has left.

    python3 docs/teaching/cards.py make CARD BYTES[,BYTES...] FILE.pcap
    python3 docs/teaching/cards.py check FILE.pcapng

`make` writes ten packets for a line card, 0 or 1: of BYTES bytes each, or of several lengths one
after the other. `check` reads what `wireloom run` wrote: all packets of each card have to leave by
the port of the other one, whole and in order.

Exit status: 0, or 1 if `check` finds something wrong, 2 for wrong usage.
"""

import struct
import sys

PACKETS = 10


def packet(card, number, length):
    """A packet that says where it comes from and which it is."""
    return (bytes([card, number]) + bytes(card * 16 + number for _ in range(length)))[:length]


def make(card, lengths, path):
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for number in range(PACKETS):
            data = packet(card, number, lengths[number % len(lengths)])
            file.write(struct.pack("<IIII", 0, number, len(data), len(data)) + data)


def packets(path):
    """Port and bytes of each packet of a pcapng file of the command: an interface is a port."""
    with open(path, "rb") as file:
        data = file.read()
    at, ports = 0, []
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if kind == 1:
            # The first option of an interface is its name, `portN`.
            _, size = struct.unpack_from("<HH", data, at + 16)
            ports.append(int(data[at + 20 : at + 20 + size].removeprefix(b"port")))
        elif kind == 6:
            interface, _, _, size = struct.unpack_from("<IIII", data, at + 8)
            yield ports[interface], data[at + 28 : at + 28 + size]
        at += length


def check(path):
    following, wrong = [0, 0], 0
    for port, data in packets(path):
        card = 1 - port
        if data == packet(card, following[card], len(data)) and len(data) > 1:
            following[card] += 1
        else:
            wrong += 1
    for card, count in enumerate(following):
        print(f"card {card}: {count} of {PACKETS} packets left by port {1 - card}, in order")
    if wrong:
        print(f"{wrong} packets are not where or what they should be")
    return 0 if following == [PACKETS, PACKETS] and not wrong else 1


def main():
    match sys.argv[1:]:
        case ["make", ("0" | "1") as card, lengths, path]:
            sizes = [int(size) if size.isdigit() else 0 for size in lengths.split(",")]
            if min(sizes) < 2 or max(sizes) > 65535:
                sys.exit("error: a packet has 2 to 65,535 bytes")
            make(int(card), sizes, path)
            return 0
        case ["check", path]:
            return check(path)
    print(__doc__.strip(), file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
