from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import typer.main
from typer.core import TyperGroup

from dialwatch.cli import app
from dialwatch.config_names import RENAMED, RETIRED
from lake.spec.schemas import TABLES
from tests.docs.test_configuration import FIELDS

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
FOLDERS = "tests|benchmarks|docs|deploy|examples|lake|collector|evaluator|monitor|dialwatch|runtime"
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]
SETTINGS = {key.replace(".<name>", "") for key in FIELDS}
SOURCE = "\n".join(
    path.read_text(encoding="utf-8")
    for folder in ("collector", "evaluator", "monitor", "dialwatch", "lake", "runtime")
    for path in (ROOT / folder).rglob("*.py")
)
TOP: Any = typer.main.get_command(app)


def code(text: str) -> Iterator[str]:
    """All that stands in blocks and spans of code, without the blocks of other languages than the shell's."""
    blocks = r"^```(\w*)\n(.*?)^```"
    for language, block in re.findall(blocks, text, re.DOTALL | re.MULTILINE):
        if language in ("", "console", "bash", "sh"):
            yield block
    text = re.sub(blocks, "", text, flags=re.DOTALL | re.MULTILINE)
    yield from re.findall(r"^(?: {4}.*\n?)+", text, re.MULTILINE)
    yield from (span.replace("\n", " ") for span in re.findall(r"(?<!`)`([^`]+)`(?!`)", text))


def commands(text: str) -> Iterator[list[str]]:
    """Words of each call of dialwatch."""
    for piece in code(text):
        for line in piece.replace("\\\n", " ").splitlines():
            if found := re.search(r"(?:^|[ /$])dialwatch ([a-z].*)", line):
                yield shlex.split(re.split(r" [|&;#] ?| &&", found[1])[0])


def command_of(words: list[str]) -> tuple[Any, list[str]]:
    """The command that the first words name, and the words behind them."""
    command: Any = TOP
    while isinstance(command, TyperGroup) and words and not words[0].startswith("-"):
        child = command.get_command(typer.Context(command), words[0])
        assert child is not None, f"there is no `dialwatch ... {words[0]}`"
        command, words = child, words[1:]
    return command, words


def options_of(command: Any) -> set[str]:
    return {"--help"} | {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}


@cache
def all_options(command: Any) -> set[str]:
    found = options_of(command)
    if isinstance(command, TyperGroup):
        context = typer.Context(command)
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            assert child is not None
            found |= all_options(child)
    return found


def slug(heading: str) -> str:
    """The anchor of a heading, as GitHub and the site make it."""
    return re.sub(r" ", "-", re.sub(r"[^\w\- ]", "", re.sub(r"`", "", heading).strip().lower()))


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md"], ids=[*NAMES, "CHANGELOG.md"])
def test_every_link_leads_somewhere(page: Path) -> None:
    """A link in the repository names a file that exists, and a heading that is in it."""
    text = page.read_text(encoding="utf-8")
    for link in re.findall(r"\]\((?!https?:)([^)\s]+)\)", text):
        name, _, anchor = link.partition("#")
        target = page.parent / name if name else page
        assert target.exists(), link
        if anchor:
            headings = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in map(slug, headings), link


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_every_file_and_module_in_the_text_exists(page: Path) -> None:
    """Paths below the packages, and modules that are to be run, are there."""
    text = page.read_text(encoding="utf-8")
    paths = set(re.findall(rf"`((?:{FOLDERS})/[\w./-]+)`", text))
    paths |= set(re.findall(rf"(?<![\w/.-])((?:{FOLDERS})/[\w/]+\.py)\b", text))
    made_by_recipes = set(re.findall(r"\bhere `([^`]+)`", text))
    assert {path for path in paths - made_by_recipes if not (ROOT / path).exists()} == set()
    modules = re.findall(rf"python -m ((?:{FOLDERS})[\w.]*)", text)
    assert [module for module in modules if find_spec(module) is None] == []


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_every_command_and_option_in_the_text_exists(page: Path) -> None:
    """What the docs say to type is a command, and each of its options is one that the command has."""
    text = page.read_text(encoding="utf-8")
    for words in commands(text):
        command, rest = command_of(words)
        for word in rest:
            if re.fullmatch(r"--?[a-z][\w-]*(?:=.*)?", word):
                assert word.split("=")[0] in options_of(command), f"dialwatch {' '.join(words)}"
    mentioned = {
        name for span in re.findall(r"(?<!`)`(--[a-z][^`]*)`", text) for name in re.findall(r"--[a-z-]+", span)
    }
    assert mentioned <= all_options(TOP), page
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert {target for piece in code(text) for target in re.findall(r"\bmake ([a-z][a-z-]*)", piece)} <= targets


def is_setting(name: str) -> bool:
    """Whether it is a key of dialwatch.yaml, or the beginning of one."""
    return any(f"{key.removesuffix('_file')}.".startswith(f"{name.removesuffix('_file')}.") for key in SETTINGS)


def is_in_python(name: str) -> bool:
    """Whether it is a module, or something in one."""
    module, _, attribute = name.rpartition(".")
    if not module:
        return find_spec(name) is not None
    if not is_in_python(module) or find_spec(module) is None:
        return False
    return hasattr(import_module(module), attribute) or find_spec(name) is not None


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_every_setting_and_python_name_in_the_text_exists(page: Path) -> None:
    """`monitor.limits.window` is a setting, `lake.answers_frame` a name of the package, `scores.cost` a column."""
    text = page.read_text(encoding="utf-8")
    names = set(re.findall(r"`((?:lake|collector|evaluator|monitor)(?:\.\w+)+)`", text))
    earlier = {".".join(place) for place in (*RENAMED, *RETIRED)}
    assert {name for name in names - earlier if not is_setting(name) and not is_in_python(name)} == set()
    columns = set(re.findall(rf"`((?:{'|'.join(TABLES)})\.\w+)`", text))
    assert columns <= {f"{table}.{column}" for table, spec in TABLES.items() for column in spec.schema.names}
    variables = {name.lower().replace("__", ".") for name in re.findall(r"DIALWATCH_((?:[A-Z]+_)+_[A-Z_]+)", text)}
    assert {name for name in variables if not is_setting(name)} == set()


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_every_prometheus_metric_in_the_text_exists(page: Path) -> None:
    """A name such as `dialwatch_score` stands in the code that exports it; a counter there without `_total`."""
    names = set(re.findall(r"`(dialwatch_[a-z_]+)", page.read_text(encoding="utf-8")))
    assert {name for name in names if name.removesuffix("_total") not in SOURCE} == set()


def test_the_references_of_the_docs_are_seen() -> None:
    """The tests above look at something: these stand in the docs."""
    seen = {" ".join(words[:2]) for page in PAGES for words in commands(page.read_text(encoding="utf-8"))}
    assert {"silence add", "lake compact", "judge calibrate", "score answers.parquet"} <= seen
    assert is_setting("monitor.limits.window")
    assert is_in_python("evaluator.metrics.compute")
    assert not is_setting("monitor.limits.widow")
    assert not is_in_python("evaluator.metrics.computer")
