#!/usr/bin/env python3
"""Builds all tests of the workspace and runs them: test.py [ARGUMENT]...

`cargo test` runs one program of tests after the other, and while the last long test of one is under
way the other cores have nothing to do. This runs two programs at a time, prints what each one says
when it is done, and names at the end all that failed. Arguments go to every program. Tests in
documentation are those of `cargo test --doc`.
"""

import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

AT_ONCE = 2


def build():
    """Returns a title, the program and the folder that it runs in, for all tests; ends where cargo does."""
    command = ["cargo", "test", "--workspace", "--locked", "--no-run", "--message-format=json-render-diagnostics"]
    command += ["--lib", "--bins", "--tests"]  # examples are checked with the lints
    cargo = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if cargo.returncode:
        sys.exit(cargo.returncode)
    programs = []
    for line in cargo.stdout.splitlines():
        message = json.loads(line)
        if message.get("reason") == "compiler-artifact" and message["profile"]["test"] and message["executable"]:
            folder = Path(message["manifest_path"]).parent
            title = os.path.relpath(message["target"]["src_path"])
            programs.append((title, message["executable"], folder))
    return programs


def run(program, folder):
    """Runs a program of tests; returns its status and what it said."""
    environment = dict(os.environ, CARGO_MANIFEST_DIR=str(folder))
    with tempfile.TemporaryFile() as said:
        status = subprocess.call(
            [program, *sys.argv[1:]], cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=said, stderr=said
        )
        said.seek(0)
        return status, said.read()


def main():
    os.chdir(Path(__file__).parent.parent)
    failed = []
    pool = ThreadPoolExecutor(AT_ONCE)
    try:
        runs = {pool.submit(run, program, folder): title for title, program, folder in build()}
        for done in as_completed(runs):
            status, said = done.result()
            sys.stdout.buffer.write(f"\nRunning {runs[done]}\n".encode() + said)
            sys.stdout.flush()
            if status:
                failed.append(runs[done])
    except KeyboardInterrupt:
        # The programs were interrupted too: they are in the terminal's foreground.
        sys.exit(130)
    finally:
        # No more begin, also when nobody reads the output any more.
        pool.shutdown(cancel_futures=True)
    if failed:
        sys.exit(f"\nerror: tests failed in {len(failed)} of {len(runs)} programs: {', '.join(failed)}")
    print(f"\nall {len(runs)} programs of tests passed")


main()
