"""Packs the command as a wheel, which `pip install` puts into the environment's folder of programs:
wheel.py WIRELOOM VERSION GLIBC FOLDER (Binary distribution format, packaging.python.org)."""

import pathlib
import shutil
import subprocess
import sys
import tempfile

METADATA = """\
Metadata-Version: 2.1
Name: wireloom
Version: {version}
Summary: Compiles packet-processing engines and runs them on many machines
License: Apache-2.0
Description-Content-Type: text/markdown

{description}"""

WHEEL = """\
Wheel-Version: 1.0
Generator: wireloom
Root-Is-Purelib: false
Tag: py3-none-manylinux_{glibc}_x86_64
"""

wireloom, version, glibc, folder = sys.argv[1:]
root = pathlib.Path(__file__).parents[2]
with tempfile.TemporaryDirectory() as scratch:
    unpacked = pathlib.Path(scratch)
    programs = unpacked / f"wireloom-{version}.data" / "scripts"
    programs.mkdir(parents=True)
    shutil.copy(wireloom, programs / "wireloom")
    (programs / "wireloom").chmod(0o755)
    about = unpacked / f"wireloom-{version}.dist-info"
    (about / "licenses").mkdir(parents=True)
    shutil.copy(root / "LICENSE", about / "licenses")
    description = (root / "README.md").read_text()
    (about / "METADATA").write_text(METADATA.format(version=version, description=description))
    (about / "WHEEL").write_text(WHEEL.format(glibc=glibc.replace(".", "_")))
    subprocess.run(
        [sys.executable, "-m", "wheel", "pack", "--dest-dir", folder, unpacked],
        check=True,
        stdout=subprocess.DEVNULL,
    )
