"""Prints what the command is made of as a CycloneDX document: the crates that are linked into it on 64-bit x86
Linux, with versions, licences and checksums: components.py VERSION"""

import json
import subprocess
import sys
import tomllib
import uuid
from datetime import datetime, timezone
from os import environ

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

TARGET = "x86_64-unknown-linux-gnu"
COMMAND = ["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", TARGET]


def checksums():
    """The SHA-256 of each package in the lock file, by name and version."""
    with open("Cargo.lock", "rb") as lock:
        packages = tomllib.load(lock)["package"]
    return {(package["name"], package["version"]): package.get("checksum") for package in packages}


def linked(metadata):
    """The packages that the command needs when it runs, not to be built or tested, each with those
    that it names itself."""
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    packages = {package["id"]: package for package in metadata["packages"]}
    is_macro = lambda package: any("proc-macro" in target["kind"] for target in package["targets"])
    root = next(key for key, package in packages.items() if package["name"] == "wireloom-cli")
    needed, waiting = {}, [root]
    while waiting:
        key = waiting.pop()
        if key in needed:
            continue
        own = [
            dependency["pkg"]
            for dependency in nodes[key]["deps"]
            if any(kind["kind"] is None for kind in dependency["dep_kinds"]) and not is_macro(packages[dependency["pkg"]])
        ]
        needed[key] = own
        waiting += own
    return packages, needed, root


def component(package, checksum, licenses):
    purl = PackageURL("cargo", name=package["name"], version=package["version"])
    return Component(
        type=ComponentType.LIBRARY,
        name=package["name"],
        version=package["version"],
        bom_ref=str(purl),
        purl=purl if package["source"] else None,
        licenses=[licenses.make_from_string(package["license"].replace("/", " OR "))] if package["license"] else None,
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=checksum)] if checksum else None,
    )


def main():
    version = sys.argv[1]
    metadata = json.loads(subprocess.run(COMMAND, check=True, capture_output=True).stdout)
    known, licenses = checksums(), LicenseFactory()
    packages, needed, root = linked(metadata)
    components = {
        key: component(packages[key], known.get((packages[key]["name"], packages[key]["version"])), licenses)
        for key in needed
    }
    command = components.pop(root)
    command.type, command.name = ComponentType.APPLICATION, "wireloom"
    # The same for the same commit.
    bom = Bom(
        components=components.values(),
        serial_number=uuid.uuid5(uuid.NAMESPACE_OID, f"{version} {environ['SOURCE_DATE_EPOCH']}"),
    )
    bom.metadata.timestamp = datetime.fromtimestamp(int(environ["SOURCE_DATE_EPOCH"]), timezone.utc)
    bom.metadata.component = command
    for key, own in needed.items():
        bom.register_dependency(command if key == root else components[key], [components[other] for other in own])
    print(JsonV1Dot6(bom).output_as_string(indent=2))


main()
