from __future__ import annotations

import pytest

from tests.mutants.reach import LONGEST, Reach, chosen, first_of, function_lines, of_tests, reaching, statement_lines

SOURCE = """\
LIMIT = 3


class Row:
    size: int = LIMIT

    def fits(
        self, limit=LIMIT
    ):
        if (
            self.size
            < limit
        ):
            return (
                True
            )
        else:
            self.size = 0
        for _ in range(2):
            def inner(size=LIMIT): return size
        return False
"""


@pytest.mark.parametrize(
    ("line", "lines"),
    [
        (1, None),
        (5, None),
        (8, None),
        (10, {10, 11, 12, 13}),
        (12, {10, 11, 12, 13}),
        (15, {14, 15, 16}),
        (18, {18}),
        (19, {19}),
        (20, {20}),
        (21, {21}),
    ],
)
def test_statement_of_a_line_is_the_head_of_a_block_or_a_whole_statement_and_none_outside_of_functions(
    line: int, lines: set[int] | None
) -> None:
    assert statement_lines(SOURCE, line) == lines


def test_statements_in_handlers_and_cases_are_statements_of_their_own() -> None:
    handled = "def f(a):\n    try:\n        a()\n    except OSError:\n        a.b()\n"
    matched = "def f(a):\n    match a:\n        case 1:\n            a.c()\n"
    assert [statement_lines(handled, line) for line in (2, 3, 5)] == [{2}, {3}, {5}]
    assert [statement_lines(matched, line) for line in (2, 4)] == [{2, 3}, {4}]


def test_bodies_of_functions_are_their_lines_without_their_heads() -> None:
    assert function_lines(SOURCE) == set(range(10, 22))


def test_tests_of_the_named_file_come_first_then_quick_ones_as_many_as_there_is_time_for() -> None:
    seconds = {"t/test_b.py::slow": LONGEST, "t/test_b.py::quick": 0.1, "t/test_a.py::named": 1.0}
    assert list(first_of(seconds, "lake/a.py")) == ["t/test_a.py::named", "t/test_b.py::quick"]
    assert list(first_of({"t/test_b.py::slow": LONGEST * 2}, "lake/a.py")) == ["t/test_b.py::slow"]


def test_of_what_was_measured_a_file_keeps_its_own_tests_and_modules_of_the_package() -> None:
    measured = {
        "tests": {"tests/lake/spec/test_schemas.py::a": 1.0, "tests/lake/test_other.py::b": 2.0},
        "reached": {
            "lake/spec/schemas.py": {
                "3": ["tests/lake/spec/test_schemas.py::a", "tests/lake/test_other.py::b"],
                "4": ["tests/lake/test_other.py::b"],
            },
            "monitor/x.py": {"1": ["tests/lake/spec/test_schemas.py::a"]},
        },
    }
    reach = of_tests("tests/lake/spec/test_schemas.py", measured, "1", "2", {"lake/spec/schemas.py": "3"})
    assert reach.seconds == {"tests/lake/spec/test_schemas.py::a": 1.0}
    assert reach.reached == {"lake/spec/schemas.py": {"3": ["tests/lake/spec/test_schemas.py::a"]}}


def test_tests_that_reach_one_of_some_lines_are_those_of_all_files() -> None:
    reaches = [
        Reach("1", "", {}, {}, {"lake/a.py": {"3": ["one"], "9": ["other"]}}),
        Reach("2", "", {}, {}, {"lake/a.py": {"4": ["two"]}, "lake/b.py": {"3": ["three"]}}),
    ]
    assert reaching(reaches, "lake/a.py", {3, 4}) == {"one", "two"}


def test_a_line_of_a_module_is_tested_by_its_named_file_and_by_callers_of_its_functions() -> None:
    """Where there are neither by all of the folder; a line of a function by those that reach it alone."""
    seconds = dict.fromkeys(["t/test_a.py::named", "t/test_b.py::calls", "t/test_b.py::other"], 1.0)
    reaches = [Reach("1", "", {}, seconds, {"lake/a.py": {"11": ["t/test_b.py::calls"]}})]
    assert list(chosen(reaches, "lake/a.py", SOURCE, 1)) == ["t/test_a.py::named", "t/test_b.py::calls"]
    assert list(chosen(reaches, "lake/a.py", SOURCE, 12)) == ["t/test_b.py::calls"]
    assert list(chosen(reaches, "lake/a.py", SOURCE, 18)) == []
    assert list(chosen(reaches, "lake/c.py", "LIMIT = 3\n", 1)) == list(seconds)
