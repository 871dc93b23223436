"""Write the software bill of materials of the wheel in a folder, beside it, as CycloneDX JSON.

It lists what the package and its extras but `dev` bring into the environment that this script runs
in: with the hashes of the lock, required where the core needs it, else optional.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import (
    ExternalReference,
    ExternalReferenceType,
    HashAlgorithm,
    HashType,
    XsUri,
)
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentScope, ComponentType
from cyclonedx.model.license import LicenseAcknowledgement
from cyclonedx.output import make_outputter
from cyclonedx.schema import OutputFormat, SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
PACKAGE = "skillopt-cli"
SCHEMA = SchemaVersion.V1_6
Graph = dict[str, set[str]]


def dependencies(extras: Iterable[str]) -> Graph:
    """Return what PACKAGE with these extras brings, itself included, and by name what each needs.

    An optional package that is not installed needs nothing.
    """
    edges: Graph = {PACKAGE: set()}
    ahead = [(PACKAGE, extra) for extra in ("", *extras)]
    seen = set()
    while ahead:
        name, extra = ahead.pop()
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        edges.setdefault(name, set())
        found = _installed(name)
        for need in map(Requirement, found.requires or ()) if found else ():
            if need.marker is None or need.marker.evaluate({"extra": extra}):
                inner = canonicalize_name(need.name)
                edges[name] |= {inner} - {name}
                ahead += [(inner, each) for each in ("", *need.extras)]
    return edges


def locked_hashes(*locks: Path) -> dict[str, list[str]]:
    """Return the SHA-256 digests of the files of each release, by `name==version`."""
    found: dict[str, list[str]] = {}
    for line in "\n".join(lock.read_text(encoding="utf-8") for lock in locks).splitlines():
        if pin := re.match(r"[\w.-]+==[\w.+!]+", line):
            found[pin.group()] = []
        elif digest := re.search(r"--hash=sha256:(\w+)", line):
            found[next(reversed(found))].append(digest.group(1))
    return found


def bill(wheel: Path, hashes: Mapping[str, list[str]]) -> Bom:
    """Return the bill of materials of a wheel."""
    extras = set(distribution(PACKAGE).metadata.get_all("Provides-Extra") or ()) - {"dev"}
    core, whole = dependencies(()), dependencies(sorted(extras))
    components = {
        name: _component(found, hashes, required=name in core)
        for name in sorted(whole)
        if (found := _installed(name))
    }
    root = components.pop(PACKAGE)
    root.type, root.scope = ComponentType.APPLICATION, None
    root.hashes = [HashType(alg=HashAlgorithm.SHA_256, content=_sha256(wheel))]
    made = Bom(components=components.values())
    made.metadata.component = root
    for name, component in {PACKAGE: root, **components}.items():
        below = (components[need] for need in sorted(whole[name]) if need in components)
        made.register_dependency(component, below)
    return made


@cache
def _installed(name: str) -> Distribution | None:
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None


def _component(
    found: Distribution, hashes: Mapping[str, list[str]], *, required: bool
) -> Component:
    name, version = canonicalize_name(found.metadata["Name"]), found.version
    files = hashes.get(f"{name}=={version}", ())
    origin = ExternalReference(
        type=ExternalReferenceType.DISTRIBUTION,
        url=XsUri(f"https://pypi.org/project/{name}/{version}/#files"),
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=digest) for digest in files],
    )
    return Component(
        name=name,
        version=version,
        bom_ref=f"{name}=={version}",
        purl=PackageURL("pypi", None, name, version),
        scope=ComponentScope.REQUIRED if required else ComponentScope.OPTIONAL,
        licenses=_licences(found),
        external_references=[origin] if files else [],
    )


def _licences(found: Distribution) -> list[object]:
    """What a package declares: an expression, else its classifiers, else a short text."""
    told = found.metadata.get_all("License-Expression") or [
        classifier.rpartition(" :: ")[2]
        for classifier in found.metadata.get_all("Classifier") or ()
        if classifier.startswith("License :: ")
    ]
    if not told:
        told = [text for text in found.metadata.get_all("License") or () if "\n" not in text]
    make = LicenseFactory().make_from_string
    return [make(text, license_acknowledgement=LicenseAcknowledgement.DECLARED) for text in told]


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def main(folder: Path) -> None:
    """Write the bill of the newest wheel in a folder.

    Raises:
        ValueError: it is not valid by the schema of CycloneDX.
    """
    wheel = max(folder.glob("skillopt_cli-*.whl"), key=lambda path: path.stat().st_mtime)
    hashes = locked_hashes(ROOT / "requirements-dev.txt", ROOT / "requirements-alfworld.txt")
    text = make_outputter(bill(wheel, hashes), OutputFormat.JSON, SCHEMA).output_as_string(indent=1)
    if fault := JsonStrictValidator(SCHEMA).validate_str(text):
        raise ValueError(f"the bill of materials is not valid: {fault}")
    name = "-".join(wheel.name.split("-")[:2])
    (folder / f"{name}.cdx.json").write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
