"""A key that a command sets in the file of the configuration."""

from pathlib import Path

import pytest
import yaml

from dialwatch.config_change import set_key
from dialwatch.errors import ConfigError

KEYS = ["evaluator", "combinations", "good"]
VALUE = "{weights: {faithfulness_claims: 1}, threshold: 0.85}"
WHOLE = f"evaluator: {{combinations: {{good: {VALUE}}}}}"
INNER = f"combinations: {{good: {VALUE}}}"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("lake: {root: x}", f"{WHOLE}\nlake: {{root: x}}"),
        ("# mine\nlake:\n  root: x  # here\n", f"# mine\n{WHOLE}\nlake:\n  root: x  # here\n"),
        ("evaluator:\n    metrics: [a]  # my own\n", f"evaluator:\n    {INNER}\n    metrics: [a]  # my own\n"),
        ("evaluator:\nlake: {}\n", f"{WHOLE}\nlake: {{}}\n"),
        ("evaluator: {metrics: [a]}\n", f"evaluator: {{{INNER}, metrics: [a]}}\n"),
        ("evaluator: {}\n", f"{WHOLE}\n"),
        (
            "evaluator:\n  combinations:\n    old: {a: 1}\n",
            f"evaluator:\n  combinations:\n    good: {VALUE}\n    old: {{a: 1}}\n",
        ),
        (
            "evaluator:\n  combinations:\n    good: {a: 1}  # old\nx: 1\n",
            f"evaluator:\n  combinations:\n    good: {VALUE}  # old\nx: 1\n",
        ),
        (
            "evaluator:\n  combinations:\n    good:\n      threshold: 0.5\n      weights: {a: 1}\n\nx: 1\n",
            f"evaluator:\n  combinations:\n    good:\n      {VALUE}\n\nx: 1\n",
        ),
    ],
)  # fmt: skip
def test_a_key_is_set_and_all_else_stays(tmp_path: Path, before: str, after: str) -> None:
    """Comments, order, styles and permissions of the file."""
    file = tmp_path / "c.yaml"
    file.write_text(before)
    file.chmod(0o640)
    set_key(file, KEYS, VALUE)
    assert file.read_text() == after
    assert yaml.safe_load(after)["evaluator"]["combinations"]["good"] == yaml.safe_load(VALUE)
    assert file.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("before", ["evaluator: &one\n  a: 1\nother: *one\n", "evaluator: text\n", "- a\n"])
def test_a_file_that_would_say_something_else_stays_as_it_is(tmp_path: Path, before: str) -> None:
    """The error says which line to write."""
    file = tmp_path / "c.yaml"
    file.write_text(before)
    with pytest.raises(ConfigError):
        set_key(file, KEYS, VALUE)
    assert file.read_text() == before


def test_nobody_else_reads_the_file_while_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where an attempt that was killed left one that all may read; in the end it has the old permissions."""
    path, left = tmp_path / "dialwatch.yaml", tmp_path / ".dialwatch.yaml.new"
    path.write_text("lake: {root: x}\n", "utf-8")
    path.chmod(0o640)
    left.write_text("", "utf-8")
    left.chmod(0o644)
    seen: list[int] = []
    change = Path.chmod

    def spy(self: Path, mode: int) -> None:
        seen.append(self.stat().st_mode & 0o777)
        change(self, mode)

    monkeypatch.setattr(Path, "chmod", spy)
    set_key(path, KEYS, VALUE)
    assert seen == [0o600]
    assert path.stat().st_mode & 0o777 == 0o640
