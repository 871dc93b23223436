"""YAML in which a plain scalar stays as it was written until it is known what its key wants.

`target: 007` names a model and `split_ratio: 2:1:7` is a ratio, so a plain scalar is read by the
key it belongs to. Numbers follow the core schema of YAML 1.2: no octal, no base 60, no dates.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping
from itertools import chain
from typing import Any

import yaml
from yaml.constructor import ConstructorError
from yaml.nodes import MappingNode, Node, ScalarNode

_PREFIX = "tag:yaml.org,2002:"
_NULL = f"{_PREFIX}null"
_READ = {_NULL, *(f"{_PREFIX}{kind}" for kind in ("bool", "int", "float"))}
MOST_UNFOLDED = 10_000
"""Most values that the aliases of a document may add to those that are written there."""
_NULLS = ("", "~", "null", "Null", "NULL")


class Written(str):
    """A plain scalar, letter by letter."""

    __slots__ = ()


class _Loader(yaml.SafeLoader):
    """The safe loader with the core schema's scalars; the same key twice is an error."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012

    def get_single_node(self) -> Node | None:
        node = super().get_single_node()
        if node is not None:
            known: dict[int, int] = {}
            if _unfolded(node, known) - len(known) > MOST_UNFOLDED:
                problem = f"aliases stand for more than {MOST_UNFOLDED:,} values"
                raise ConstructorError(None, None, problem, node.start_mark)
        return node

    def construct_mapping(self, node: MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[str] = set()
        for key in (key for key, _ in node.value if isinstance(key, ScalarNode)):
            if key.value in seen:
                raise ConstructorError(None, None, f"`{key.value}` occurs twice", key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def _unfolded(node: Node, known: dict[int, int]) -> int:
    """Number of values in a node, aliases followed; `known` holds those counted before."""
    size = known.get(id(node))
    if size == 0:
        raise ConstructorError(None, None, "an alias occurs in what it names", node.start_mark)
    if size is None:
        known[id(node)] = 0
        parts = chain.from_iterable(node.value) if isinstance(node, MappingNode) else node.value
        inner = () if isinstance(node, ScalarNode) else parts
        size = known[id(node)] = 1 + sum(_unfolded(part, known) for part in inner)
    return size


class _WrittenLoader(_Loader):
    """The loader that keeps plain scalars as `Written`."""

    def construct_object(self, node: Node, deep: bool = False) -> Any:
        plain = isinstance(node, ScalarNode) and node.style is None and node.tag != _NULL
        if plain and node.tag.startswith(_PREFIX):
            return Written(node.value)
        return super().construct_object(node, deep)


_TRUTH = ("true", "false", "yes", "no", "on", "off")
for _kind, _pattern, _first in (
    ("bool", "|".join(f"{w}|{w.title()}|{w.upper()}" for w in _TRUTH), "tTfFyYnNoO"),
    # No number of ours is as long as those that Python refuses to read.
    ("int", r"[-+]?(?:0|[1-9][0-9_]{0,99})|0x[0-9a-fA-F]{1,99}", "-+0123456789"),
    (
        "float",
        r"[-+]?(?:\.[0-9]+|[0-9]+\.[0-9]*)(?:[eE][-+]?[0-9]+)?|[-+]?[0-9]+[eE][-+]?[0-9]+"
        r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
        "-+0123456789.",
    ),
    ("merge", r"<<", "<"),
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
):
    _Loader.add_implicit_resolver(
        f"{_PREFIX}{_kind}", re.compile(rf"(?:{_pattern})\Z"), list(_first)
    )


def read_yaml(text: str) -> Any:
    """A document whose plain scalars are `Written`; quoted ones are ordinary texts.

    Raises:
        yaml.YAMLError: it is no YAML, a mapping holds a key twice, or aliases stand for too much.
    """
    return _loaded(text, _WrittenLoader)


def is_null(text: str) -> bool:
    """Whether a plain scalar is null or empty."""
    return text.strip() in _NULLS


def read_value(text: str) -> Any:
    """A text from a file, a flag or a variable as number, truth value, text, list or mapping.

    Lists and mappings are read in their bracketed forms only; whatever else is no YAML is a text.
    """
    stripped = text.strip()
    if stripped[:1] in ("[", "{", '"', "'"):
        try:
            return _loaded(stripped, _Loader)
        except yaml.YAMLError:
            return text
    loader = _Loader("")
    tag: str = loader.resolve(ScalarNode, stripped, (True, False))  # type: ignore[no-untyped-call]
    return loader.construct_object(ScalarNode(tag, stripped)) if tag in _READ else text


def _loaded(text: str, loader: type[_Loader]) -> Any:
    try:
        return yaml.load(text, loader)
    # The library has no error of its own for a scalar that is not what its tag says, as in
    # `!!bool 1`, nor for brackets without end.
    except (AttributeError, LookupError, ValueError, RecursionError):
        problem = "a value is not what its tag says, or lies too deep"
        raise ConstructorError(None, None, problem, None) from None


def settle_written(value: Any) -> Any:
    """`value` with every `Written` inside it read."""
    if isinstance(value, Written):
        return None if is_null(value) else read_value(str(value))
    if isinstance(value, list):
        return [settle_written(item) for item in value]
    if isinstance(value, dict):
        return {str(key): settle_written(item) for key, item in value.items()}
    return value


class _Dumper(yaml.SafeDumper):
    """The safe dumper, which quotes every text that would not be read back as it is."""


def _text(dumper: yaml.SafeDumper, text: str) -> ScalarNode:
    quoted = is_null(text) or read_value(text) != text
    return dumper.represent_scalar(f"{_PREFIX}str", text, style="'" if quoted else None)


_Dumper.add_representer(str, _text)


def dump_yaml(values: Mapping[str, Any]) -> str:
    """Values as YAML, in their order; `read_yaml` gives them back."""
    return yaml.dump(dict(values), Dumper=_Dumper, sort_keys=False, allow_unicode=True)
