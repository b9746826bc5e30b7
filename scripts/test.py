#!/usr/bin/env python3
"""Builds all tests of the workspace and runs them: test.py [ARGUMENT]...

Arguments go to every program of tests, like those of `cargo test -- ARGUMENT...`: names of tests,
`--ignored`, `--nocapture`. Without any, tests in documentation run as well. `--no-run` builds only.

Builds check with clippy what they compile (scripts/test-rustc.sh): a separate check would read
everything once more. Warnings are shown; with `--no-run` they are errors.

Cargo would run one program after the other, and the last long test of
each would leave the other cores idle. Here each module of a crate's integration tests is a process.
Processes start while fewer than twice `RUST_TEST_THREADS` tests run, since many wait for a child.

Failed tests are shown with their output. A test that runs for more than 60 s is killed with its
process, and so is one that crashes; the other tests of the process run in a new one.
`WIRELOOM_TEST_PATIENCE=2` doubles this limit, for slow or busy computers. At the end the tests that
took more than 10 s are listed; target/test-times.txt has all.
"""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

PATIENCE = float(os.environ.get("WIRELOOM_TEST_PATIENCE") or 1)
LIMIT = 60 * PATIENCE
SLOW = 10
THREADS = int(os.environ.get("RUST_TEST_THREADS") or os.cpu_count())
# Modules whose tests wait for packets and timers: they start first and count as one running test.
WAITING = ("live", "operate")
# Options of the test harness that are followed by a value.
VALUED = ("--skip", "--test-threads", "--logfile", "--color", "--format", "--shuffle-seed", "-Z")
TIMES = Path("target/test-times.txt")
# The beginning of each JSON event of the test harness.
EVENT = b'{ "type": '


class Program:
    """A program of tests."""

    def __init__(self, title, executable, folder):
        self.title, self.executable, self.folder = title, executable, folder
        self.pieces = self.tests = 0
        self.seconds = 0.0

    def split(self, arguments):
        """Returns the tests of each top-level module as a piece; unit tests are one piece."""
        command = [self.executable, "--list", "--format", "terse", *arguments]
        listed = subprocess.run(command, cwd=self.folder, stdout=subprocess.PIPE, text=True, check=True)
        modules = {}
        for line in listed.stdout.splitlines():
            name, _, kind = line.rpartition(": ")
            if kind == "test":
                module = name.rpartition("::")[0].split("::")[0] if "/tests/" in self.title else ""
                modules.setdefault(module, []).append(name)
        self.pieces = len(modules)
        return [Piece(self, module, names) for module, names in modules.items()]


class Piece:
    """Tests of a program that run in one process."""

    def __init__(self, program, module, names):
        self.program, self.module = program, module
        self.left = names
        self.has_failed = False

    def order(self):
        """Returns the sort key: modules that wait, other modules with many tests first, unit tests."""
        return self.module not in WAITING, not self.module, -len(self.left)

    def weight(self):
        """Returns the number of its tests that run at once."""
        return min(len(self.left), 1 if self.module in WAITING else THREADS)


class Run:
    """A run of all tests."""

    def __init__(self, options):
        self.options = options
        self.running = []
        self.changed = asyncio.Condition()
        self.times = []
        self.failed = []
        self.ignored = 0

    async def all(self, pieces):
        """Runs each piece as soon as there is room for its tests."""
        tasks = []
        try:
            for piece in sorted(pieces, key=Piece.order):
                async with self.changed:
                    await self.changed.wait_for(lambda: self.has_room(piece))
                # A piece that could not run to its end, as when the disk is full, ends the run.
                for task in tasks:
                    if task.done():
                        task.result()
                self.running.append(piece)
                tasks.append(asyncio.create_task(self.run(piece)))
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def has_room(self, piece):
        weight = sum(other.weight() for other in self.running)
        return weight == 0 or weight + piece.weight() <= 2 * THREADS

    async def run(self, piece):
        """Runs the tests of a piece, and tells when there is room for others."""
        program = piece.program
        try:
            while piece.left and await self.process(piece):
                pass
        finally:
            self.running.remove(piece)
            async with self.changed:
                self.changed.notify_all()
        program.pieces -= 1
        if not program.pieces:
            print(f"{program.title}: {program.tests} tests, {program.seconds:.1f} s", flush=True)

    async def process(self, piece):
        """Runs the tests of a piece in a process. Returns whether some are left for another one."""
        program = piece.program
        command = [program.executable, "--exact", *piece.left, *self.options]
        command += ["-Z", "unstable-options", "--format", "json", "--report-time"]
        # The harness has JSON events with times only if this variable is set. Programs that tests
        # start inherit it; it would change what Cargo and rustc accept, but no test calls them.
        environment = dict(os.environ, CARGO_MANIFEST_DIR=str(program.folder), RUSTC_BOOTSTRAP="1")
        process = await asyncio.create_subprocess_exec(
            *command,
            cwd=program.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            limit=1 << 30,
        )
        begun = {}
        said = []
        try:
            late = await self.follow(piece, process.stdout, begun, said)
            if not late:
                await process.wait()
        finally:
            await end_group(process)
        text = b"".join(said).decode(errors="replace")
        if late:
            what = f"killed after {LIMIT:.0f} s (WIRELOOM_TEST_PATIENCE={PATIENCE:g})"
        else:
            status = process.returncode
            what = f"ended by signal {-status}" if status < 0 else f"ended with status {status}"
        ended = list(late or begun)
        for name in ended:
            piece.left.remove(name)
            self.fail(piece, name, f"{what}\n{text}")
        if not late and status and not piece.has_failed:
            self.fail(piece, piece.module, f"{what}\n{text}")
        return bool(ended)

    async def follow(self, piece, output, begun, said):
        """Follows the output to its end. Returns tests that exceed the limit, if there are any."""
        while True:
            end = min(begun.values(), default=time.monotonic()) + LIMIT
            try:
                line = await asyncio.wait_for(output.readline(), max(end - time.monotonic(), 0.1))
            except asyncio.TimeoutError:
                late = [name for name, start in begun.items() if time.monotonic() - start > LIMIT]
                if late:
                    return late
                continue
            if not line:
                return []
            # A child of a test may have written before it, without the end of a line.
            at = line.find(EVENT)
            at = at if at >= 0 else len(line)
            said.append(line[:at])
            if "--nocapture" in self.options:
                sys.stdout.buffer.write(line[:at])
                sys.stdout.flush()
            event = json.loads(line[at:] or "{}")
            if event.get("type") == "test":
                await self.note(piece, event, begun)

    async def note(self, piece, event, begun):
        """Notes the start or the end of a test."""
        name = event["name"]
        if event["event"] == "started":
            begun[name] = time.monotonic()
        if event["event"] not in ("ok", "failed", "ignored"):
            return
        begun.pop(name, None)
        piece.left.remove(name)
        if event["event"] == "ignored":
            self.ignored += 1
        else:
            self.times.append((event["exec_time"], f"{piece.program.title} {name}"))
            piece.program.tests += 1
            piece.program.seconds += event["exec_time"]
        if event["event"] == "failed":
            self.fail(piece, name, event.get("stdout") or event.get("message") or "")
        async with self.changed:
            self.changed.notify_all()

    def fail(self, piece, name, text):
        piece.has_failed = True
        self.failed.append(f"{piece.program.title} {name}")
        print(f"\nFAILED {piece.program.title} {name}\n{text}", flush=True)

    def report(self):
        """Prints slow and failed tests so far. Returns the exit status."""
        self.times.sort(reverse=True)
        TIMES.write_text("".join(f"{seconds:.3f} {name}\n" for seconds, name in self.times))
        slow = [(seconds, name) for seconds, name in self.times if seconds > SLOW]
        if slow:
            print(f"\nslower than {SLOW} s:")
        for seconds, name in slow:
            print(f"  {seconds:5.1f} s  {name}")
        if self.failed:
            print(f"\nerror: {len(self.failed)} tests failed, {len(self.times)} ran:")
            for name in self.failed:
                print(f"  {name}")
            return 1
        print(f"\n{len(self.times)} tests passed, {self.ignored} are left out")
        return 0


async def end_group(process):
    """Ends a process and its children, which have a second to remove their temporary files."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        for _ in range(10):
            try:
                os.killpg(process.pid, number)
            except ProcessLookupError:
                return
            await asyncio.sleep(0.1)


def cargo(*arguments, **how):
    """Runs `cargo test` on the workspace with the compiler of tests."""
    compiler = Path("scripts/test-rustc.sh").resolve()
    environment = dict(os.environ, RUSTC_WORKSPACE_WRAPPER=str(compiler))
    command = ["cargo", "test", "--workspace", "--locked", *arguments]
    return subprocess.run(command, env=environment, text=True, **how)


def build():
    """Returns all programs of tests, and the number of warnings. Exits if Cargo fails."""
    if not shutil.which("clippy-driver"):
        print("error: clippy is missing: install it (rustup component add clippy)", file=sys.stderr)
        sys.exit(2)
    what = ["--no-run", "--lib", "--bins", "--tests", "--examples"]
    shape = "json-diagnostic-rendered-ansi" if sys.stderr.isatty() else "json"
    built = cargo(*what, f"--message-format={shape}", stdout=subprocess.PIPE)
    programs = []
    warnings = 0
    for line in built.stdout.splitlines():
        message = json.loads(line)
        reason = message.get("reason")
        if reason == "compiler-message":
            print(message["message"]["rendered"], end="", file=sys.stderr)
            warnings += message["message"]["level"] == "warning"
        if reason == "compiler-artifact" and message["profile"]["test"] and message["executable"]:
            folder = Path(message["manifest_path"]).parent
            title = os.path.relpath(message["target"]["src_path"])
            programs.append(Program(title, message["executable"], folder))
    if built.returncode:
        sys.exit(built.returncode)
    return programs, warnings


def options_of(arguments):
    """Returns the arguments that select no tests, since pieces name their tests."""
    options = []
    words = iter(arguments)
    for word in words:
        if word.startswith("-") and word != "--exact":
            options.append(word)
            if word in VALUED:
                options.append(next(words, ""))
    return options


async def main(arguments):
    for number in (signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, asyncio.current_task().cancel)
    started = time.monotonic()
    programs, warnings = build()
    if "--no-run" in arguments:
        return 1 if warnings else 0
    pieces = [piece for program in programs for piece in program.split(arguments)]
    built = time.monotonic()
    run = Run(options_of(arguments))
    try:
        await run.all(pieces)
    finally:
        status = run.report()
    print(f"built in {built - started:.0f} s, ran for {time.monotonic() - built:.0f} s")
    if not status and not arguments:
        status = cargo("--doc", "--quiet").returncode
    return status


if __name__ == "__main__":
    os.chdir(Path(__file__).parent.parent)
    try:
        sys.exit(asyncio.run(main(sys.argv[1:])))
    except (KeyboardInterrupt, asyncio.CancelledError):
        sys.exit(130)
