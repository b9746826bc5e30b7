#!/usr/bin/env python3
"""Runs the switches of a program for the tiles of RAW, and shows who waits for whom.

    python3 docs/teaching/switches.py FILE.rasm [--words N,N,...] [--messages N]

The chip has 4 x 4 tiles. Every side of it from which a switch takes words gets messages: a word
with the number of words that follow but one, and these words. With several numbers of words,
messages take them in turn, and each side begins with another one. Every other side takes a word a
cycle. Queues, branches and routes have the rules of docs/machines/raw.md; there are no tile
processors, no dynamic networks and no second static network.

Exit status: 0 if every word left, 1 if some did not, 2 for wrong input.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, deque

TILES = 4  # in a row and in a column
ROOM = 4  # words of a queue
PENALTY = 3  # cycles after a branch that was predicted wrongly
SIDES = {"N": (0, -1), "E": (1, 0), "S": (0, 1), "W": (-1, 0)}
NAMES = {"N": "north", "E": "east", "S": "south", "W": "west"}
OPPOSITE = {"N": "S", "S": "N", "E": "W", "W": "E"}


def wrong(message):
    print(f"error: {message}", file=sys.stderr)
    sys.exit(2)


def disassembly(path):
    """The program as the assembler understands it: without comments, includes and constants."""
    with tempfile.NamedTemporaryFile(suffix=".robj") as made:
        for words in ([path, "-o", made.name], [made.name, "--disassemble"]):
            ran = subprocess.run(
                ["wireloom", "assemble", *words], capture_output=True, text=True, check=False
            )
            if ran.returncode:
                print(ran.stderr, end="", file=sys.stderr)
                sys.exit(2)
        return ran.stdout


class Switch:
    """A switch: its program, four registers, and a queue for each side from which words come."""

    def __init__(self, place):
        self.place = place
        self.program = []
        self.labels = {}
        self.registers = [0] * 4
        self.queues = {side: deque() for side in SIDES}
        self.at = 0
        self.ready = 0

    def __str__(self):
        return f"switch ({self.place[0]},{self.place[1]})"

    def add(self, line):
        control, _, routes = line.partition("route ")
        routes = re.findall(r"\$(\w+)->\$(\w+)", routes)
        for source, target in routes:
            known = re.fullmatch(r"c[NESW]i", source) and re.fullmatch(r"c[NESW]o|swi", target)
            if not known:
                wrong(f"{self}: `{source}->{target}` is not a route between switches")
        self.program.append((line, control.replace(",", " ").split() or ["nop"], routes))


def switches(text):
    """The switches of a program, by column and row."""
    places = ((column, row) for column in range(TILES) for row in range(TILES))
    found, switch = {place: Switch(place) for place in places}, None
    for line in map(str.strip, text.splitlines()):
        if line.startswith(".tile"):
            wrong("the program has tile processors, which this script does not run")
        if section := re.match(r"\.switch (\d+) (\d+)", line):
            switch = found.get((int(section[1]), int(section[2])))
            if switch is None:
                wrong(f"`{line}` is not on a chip of {TILES} x {TILES} tiles")
        elif label := re.fullmatch(r"(\w+):", line):
            switch.labels[label[1]] = len(switch.program)
        elif line:
            switch.add(line)
    if not any(switch.program for switch in found.values()):
        wrong("the program has no switches")
    return found


class Chip:
    def __init__(self, found, messages, words):
        self.switches = found
        self.cycle = 0
        self.out = {}
        self.cards = {}
        for switch in found.values():
            read = {source[1] for _, _, routes in switch.program for source, _ in routes}
            for side in sorted(read):
                if self.neighbour(switch, side) is None:
                    card = f"{NAMES[side]} of {switch.place[0]},{switch.place[1]}"
                    of = [words[(n + len(self.cards)) % len(words)] for n in range(messages)]
                    coming = enumerate(word for n in of for word in (n - 1, *range(n)))
                    self.cards[switch, side] = deque((card, n, word) for n, word in coming)
        self.total = sum(map(len, self.cards.values()))

    def neighbour(self, switch, side):
        (column, row), (right, down) = switch.place, SIDES[side]
        return self.switches.get((column + right, row + down))

    def block(self, switch, held):
        """Why a switch waits, by the queues as they were before the cycle."""
        if switch.at >= len(switch.program):
            return "nothing: it has stopped"
        for source, _ in switch.program[switch.at][2]:
            if not held[switch, source[1]]:
                other = self.neighbour(switch, source[1])
                return f"a word from {other or 'the line card in the ' + NAMES[source[1]]}"
        for _, target in switch.program[switch.at][2]:
            other = None if target == "swi" else self.neighbour(switch, target[1])
            if other and held[other, OPPOSITE[target[1]]] == ROOM:
                return f"room at {other}"
        return None

    def held(self):
        """The words in each queue."""
        return {(s, side): len(q) for s in self.switches.values() for side, q in s.queues.items()}

    def step(self):
        """A cycle; returns whether anything moved."""
        held = self.held()
        moved = False
        for (switch, side), coming in self.cards.items():
            if coming and held[switch, side] < ROOM:
                switch.queues[side].append(coming.popleft())
                moved = True
        for switch in self.switches.values():
            if self.cycle < switch.ready:
                moved = True
            elif self.block(switch, held) is None:
                self.execute(switch)
                moved = True
        self.cycle += 1
        return moved

    def execute(self, switch):
        line, control, routes = switch.program[switch.at]
        sources = {source for source, _ in routes}
        taken = {source: switch.queues[source[1]].popleft() for source in sources}
        own = 0
        for source, target in routes:
            if target == "swi":
                own = taken[source][2]
            elif other := self.neighbour(switch, target[1]):
                other.queues[OPPOSITE[target[1]]].append(taken[source])
            else:
                port = f"{NAMES[target[1]]} of {switch.place[0]},{switch.place[1]}"
                self.out.setdefault(port, []).append(taken[source])
        self.control(switch, control, own, line)

    def control(self, switch, control, own, line):
        name, *operands = control
        register = [int(word[1:]) for word in operands if word.startswith("$")]
        value = switch.registers[register[-1]] if register else 0
        following, missed, branches = switch.at + 1, False, None
        if name == "recv":
            switch.registers[register[0]] = own
        elif name == "movei":
            switch.registers[register[0]] = int(operands[-1], 0)
        elif name == "move":
            switch.registers[register[0]] = value
        elif name == "j":
            following = switch.labels[operands[0]]
        elif name in ("bnez", "beqz", "bnezd"):
            branches = (value == 0) == (name == "beqz")
            if name == "bnezd":
                switch.registers[register[0]] = (value - 1) % 2**32
        elif name == "halt":
            following = len(switch.program)
        elif name != "nop":
            wrong(f"{switch}: `{line}` is not supported here")
        if branches is not None:
            target = switch.labels[operands[-1]]
            # Backward branches are predicted taken, forward ones not.
            missed = branches != (target <= switch.at)
            following = target if branches else following
        switch.at = following
        if missed:
            switch.ready = self.cycle + 1 + PENALTY


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("--words", default="16")
    parser.add_argument("--messages", type=int, default=10)
    options = parser.parse_args()
    if shutil.which("wireloom") is None:
        wrong("`wireloom` is not installed, or not in a folder of PATH")
    words = [int(number) if number.isdigit() else 0 for number in options.words.split(",")]
    if min(*words, options.messages) < 1 or max(*words, options.messages) > 10000:
        wrong("--words and --messages are 1 to 10,000")
    chip = Chip(switches(disassembly(options.file)), options.messages, words)
    while chip.step():
        pass
    for port, words in sorted(chip.out.items()):
        for card, count in Counter(card for card, _, _ in words).items():
            numbers = [number for of, number, _ in words if of == card]
            order = "in order" if numbers == list(range(count)) else "NOT in order"
            print(f"{port}: {count} words of {card}, {order}")
    left = sum(map(len, chip.out.values()))
    if left == chip.total:
        print(f"all {left} words left in {chip.cycle} cycles, {left / chip.cycle:.2f} a cycle")
        return 0
    print(f"nothing moves after cycle {chip.cycle}: {chip.total - left} words have not left")
    for switch in filter(lambda switch: switch.program, chip.switches.values()):
        line = switch.program[switch.at][0] if switch.at < len(switch.program) else "the end"
        print(f"{switch} waits at `{line}` for {chip.block(switch, chip.held())}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
