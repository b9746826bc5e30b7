#!/usr/bin/env python3
"""Fills the lookup table of a service of programs/balancer.loom.

    python3 programs/tables/maglev.py --service 0 1 2 3 4@0.5 > places.tables

writes the places of service 0 for servers 1, 2, 3 and 4, of which the last one gets half as many
flows as each of the others. A server is a number of table `servers`. Servers that are to get no new
flows, because they drain or are down, are left out. The tables of several services are parts of one
file or several: `wireloom run ... --tables balancer.tables --tables places.tables`.

The algorithm is that of Maglev (Eisenbud and others, NSDI 2016, section 3.4). Each server has its
own order of all places, a permutation that depends on its name only. The servers take turns: who
has the turn gets the first place of its order that is still free, until no place is free. So the
servers' shares are equal, and when a server is lost or added, most places keep their server: of N
servers, the loss of one changes 1/N of the places, and a few more (`--report` counts them). Only
flows of places that changed, and that are not recorded in the balancer's table of flows, go to
another server.

A server with a lower weight takes fewer turns. The name is the number, unless the server is written
NUMBER=NAME or NUMBER=NAME@WEIGHT. With names a server may get another number without another order.
"""

import argparse
import hashlib
import math
import sys
from fractions import Fraction


def hash_of(purpose, name):
    digest = hashlib.blake2b(name.encode(), digest_size=8, person=purpose).digest()
    return int.from_bytes(digest, "big")


def order(name, count):
    """Yields all places once, in the order of a server. `count` is a prime, so that each step from
    one place to the next, modulo `count`, leads to all of them."""
    place = hash_of(b"offset", name) % count
    skip = hash_of(b"skip", name) % (count - 1) + 1
    while True:
        yield place
        place = (place + skip) % count


def fill(weights, count):
    """Returns the name of the server of each place. `weights` has the positive weight of each name.

    >>> table = fill({"a": 1, "b": 1, "c": 2}, 10007)
    >>> [table.count(name) for name in "abc"]
    [2502, 2502, 5003]
    >>> without = fill({"a": 1, "c": 2}, 10007)  # at least 2502 places change
    >>> sum(was != now for was, now in zip(table, without))
    2504
    """
    table = [None] * count
    names = sorted(weights)
    orders = {name: order(name, count) for name in names}
    most = max(weights.values())
    due = dict.fromkeys(names, 0)  # turns that a server is entitled to, less those that it took
    free = count
    while free:
        for name in names:
            due[name] += Fraction(weights[name]) / Fraction(most)
            if due[name] < 1:
                continue
            due[name] -= 1
            place = next(place for place in orders[name] if table[place] is None)
            table[place] = name
            free -= 1
            if not free:
                break
    return table


def is_prime(number):
    return number > 1 and all(number % divisor for divisor in range(2, math.isqrt(number) + 1))


def server(text):
    """Returns number, name and weight.

    >>> server("4"), server("4@0.5"), server("4=2001:db8::4@2")
    ((4, '4', Fraction(1, 1)), (4, '4', Fraction(1, 2)), (4, '2001:db8::4', Fraction(2, 1)))
    """
    text, _, weight = text.partition("@")
    number, _, name = text.partition("=")
    name = name or number
    parsed = int(number), name, Fraction(weight or 1)
    if parsed[0] < 1 or parsed[2] <= 0:
        raise ValueError("out of range")
    return parsed


def report(weights, table):
    total = sum(weights.values())
    print(f"{len(table):,} places", file=sys.stderr)
    for name in sorted(weights):
        share, weight = table.count(name) / len(table), float(weights[name] / total)
        line = f"{name}: {share:.3%} of the places, its weight is {weight:.3%}"
        others = {other: weight for other, weight in weights.items() if other != name}
        if others:
            without = fill(others, len(table))
            changed = sum(was != now for was, now in zip(table, without)) / len(table)
            line += f"; without it {changed:.3%} change"
        print(line, file=sys.stderr)


def main():
    about, _, more = __doc__.partition("\n\n")
    parser = argparse.ArgumentParser(
        description=about, epilog=more, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("servers", nargs="+", metavar="SERVER", help="NUMBER[=NAME][@WEIGHT]")
    parser.add_argument("--service", type=int, default=0, help="`number` of the service (0)")
    parser.add_argument("--places", type=int, default=65537, help="PLACES of the balancer (65537)")
    parser.add_argument(
        "--report",
        action="store_true",
        help="also print shares, and how many places the loss of each server changes",
    )
    arguments = parser.parse_args()
    if not is_prime(arguments.places):
        parser.error(f"--places {arguments.places} is not a prime")
    if arguments.service < 0:
        parser.error("--service is negative")
    numbers, weights = {}, {}
    for text in arguments.servers:
        try:
            number, name, weight = server(text)
        except (ValueError, ZeroDivisionError):
            parser.error(f"`{text}`: write NUMBER[=NAME][@WEIGHT], from 1 on and above 0")
        if name in weights or number in numbers.values():
            parser.error(f"server `{text}` is given twice")
        numbers[name], weights[name] = number, weight
    table = fill(weights, arguments.places)
    first = arguments.service * arguments.places
    print("table places")
    for place, name in enumerate(table):
        print(f"{first + place} = {numbers[name]}")
    if arguments.report:
        report(weights, table)


if __name__ == "__main__":
    main()
