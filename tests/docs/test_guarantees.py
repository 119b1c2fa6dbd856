"""Each promise of docs/guarantees.md stands beside the tests or benchmarks that prove it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROMISES = [
    line
    for line in (ROOT / "docs" / "guarantees.md").read_text("utf-8").splitlines()
    if line.startswith("| ") and not line.startswith("| promise |")
]


def test_the_page_holds_promises() -> None:
    """Its tables are read as they are written."""
    assert len(PROMISES) > 40


def test_a_promise_stands_once() -> None:
    """What is promised under several conditions is one row with all of them."""
    promised = [promise.split(" | ")[0] for promise in PROMISES]
    assert sorted(promised) == sorted(set(promised))


@pytest.mark.parametrize("promise", PROMISES, ids=range(len(PROMISES)))
def test_a_promise_names_files_that_prove_it(promise: str) -> None:
    """The last column of each row names at least one test or benchmark, and all that it names are there."""
    files = re.findall(r"`([^`]+)`", promise.rstrip("| ").rpartition(" | ")[2])
    assert files
    for file in files:
        proof = "def test_" if file.startswith("tests/") else "def main("
        assert proof in (ROOT / file).read_text("utf-8"), file
