"""Values that `--metrics` takes."""

from __future__ import annotations

import pytest
import typer

from dialwatch.commands.options import metric_names


@pytest.mark.parametrize(
    ("given", "names"),
    [(["a"], ["a"]), (["a", "b"], ["a", "b"]), (["a, b", "c,"], ["a", "b", "c"]), (["b,a", "b"], ["b", "a"])],
)
def test_the_names_of_all_that_is_given_count(given: list[str], names: list[str]) -> None:
    """However they are divided, each once, in their order."""
    assert metric_names(given, "all") == names


def test_no_name_is_an_error() -> None:
    """Which says what to write."""
    with pytest.raises(typer.BadParameter, match="name at least one, or all"):
        metric_names([" ,", ""], "all")
