#!/usr/bin/env python3
"""Counts what the threads of a simulated machine do, in samples of `wireloom debug`.

    python3 docs/teaching/sample.py [OPTIONS] -- FILE --on MACHINE --tables T --in A

What follows `--` are arguments of `wireloom debug`. A sample of all threads is taken after every
few packets that leave (`--every`), `--samples` times. Each row is a count of samples and the state,
with what is waited for. Exit status: that of the command.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter

THREAD = re.compile(r"[* ] (\d+\.\d+) +(\w+) +\d+ <([^+>]*)[^>]*> +\d+ instructions *(.*)")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--samples", type=int, default=100)
    parser.add_argument("--every", type=int, default=5, help="packets from a sample to the next")
    parser.add_argument("--threads", help="only these, apart from each other, such as 0.0,4.0")
    parser.add_argument("--labels", action="store_true", help="tell places in the program apart")
    parser.add_argument("--rows", type=int, default=10, help="rows to show, of each thread")
    parser.add_argument("arguments", nargs="+")
    options = parser.parse_args()
    if shutil.which("wireloom") is None:
        parser.error("`wireloom` is not installed, or not in a folder of PATH")
    chosen = options.threads.split(",") if options.threads else [None]
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as script:
        script.write(f"next {options.every}\nthreads\n" * options.samples)
        script.flush()
        command = ["wireloom", "debug", *options.arguments, "--script", script.name]
        ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    counts = {thread: Counter() for thread in chosen}
    for line in ran.stdout.splitlines():
        if not (seen := THREAD.match(line)):
            continue
        thread, state, label, reason = seen.groups()
        key = None if chosen == [None] else thread
        if key in counts:
            at = f" at {label}" if options.labels else ""
            counts[key][f"{state}{at} {reason}".strip()] += 1
    for thread, states in counts.items():
        rows = sorted(states.items(), key=lambda row: (-row[1], row[0]))
        for state, count in rows[: options.rows]:
            print(f"{count:6}", *filter(None, (thread, state)), sep="  ")
    return ran.returncode


if __name__ == "__main__":
    sys.exit(main())
