"""Types that msgspec reads are built as their module is imported.

It builds what it knows of a type at the first use, and keeps it half built meanwhile: another thread that reads the
same type then crashes the process (msgspec 0.22).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGES = ("collector", "evaluator", "lake", "monitor", "runtime", "dialwatch")
DECODERS = ("msgspec.json.Decoder", "msgspec.msgpack.Decoder")
READERS = ("msgspec.convert", "msgspec.json.decode", "msgspec.msgpack.decode")


def calls(tree: ast.AST, names: tuple[str, ...]) -> Iterator[ast.Call]:
    """Yield the calls of functions with these dotted names."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in names:
            yield node


def types_of(call: ast.Call, place: int) -> set[str]:
    """Return the type that a call reads: its argument at a place, or by name."""
    named = [one.value for one in call.keywords if one.arg == "type"]
    return {ast.unparse(one) for one in (*named, *call.args[place : place + 1])}


def built_late(source: str) -> set[str]:
    """Return the types that a module's functions read and no decoder at its top has built."""
    module = ast.parse(source)
    tops = [one for one in module.body if not isinstance(one, ast.FunctionDef | ast.ClassDef)]
    built = {name for top in tops for call in calls(top, DECODERS) for name in types_of(call, 0)}
    read = {name for call in calls(module, DECODERS) for name in types_of(call, 0)}
    read |= {name for call in calls(module, READERS) for name in types_of(call, 1)}
    # `Raw` has no members to build.
    return {name for name in read - built if "msgspec.Raw" not in name}


@pytest.mark.parametrize("package", PACKAGES)
def test_no_type_is_built_at_its_first_use(package: str) -> None:
    folder = Path(__file__).parents[1] / package
    sources = {path: path.read_text("utf-8") for path in folder.rglob("*.py")}
    assert {path: names for path, source in sources.items() if (names := built_late(source))} == {}


@pytest.mark.parametrize(
    ("source", "late"),
    [
        ("def read(x): return msgspec.convert(x, T)", {"T"}),
        ("def read(x): return msgspec.json.decode(x, type=list[T])", {"list[T]"}),
        ("def read(x): return msgspec.json.Decoder(T).decode(x)", {"T"}),
        ("class A:\n    def read(self, x): return msgspec.json.decode(x, type=T)", {"T"}),
        ("msgspec.json.Decoder(T)\ndef read(x): return msgspec.convert(x, T)", set()),
        ("decode = msgspec.json.Decoder(T).decode\ndef read(x): return decode(x)", set()),
        ("def read(x): return msgspec.json.decode(x)", set()),
    ],
)
def test_a_type_that_is_built_late_is_found(source: str, late: set[str]) -> None:
    assert built_late(source) == late
