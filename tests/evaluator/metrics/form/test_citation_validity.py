"""Citations of an answer, and whether they point to something."""

from typing import Any

import pandas as pd
import pytest

from evaluator.metrics import CitationValidity, citations


def row(answer: str | None, contexts: list[str] | None) -> tuple[float | None, str | None, dict[str, Any]]:
    frame = pd.DataFrame({"answer": pd.Series([answer], dtype=object), "contexts": pd.Series([contexts], dtype=object)})
    scores = CitationValidity().score(frame)
    value = scores.values.iloc[0]
    return None if value != value else float(value), scores.reasons.iloc[0], dict(scores.details.iloc[0])


@pytest.mark.parametrize(
    ("answer", "numbers"),
    [
        ("Delhi [1]. Also[2].", [1, 2]),
        ("Both [1, 3], all [2-4] and [1][3]; again [ 1 ].", [1, 3, 2, 3, 4, 1, 3, 1]),
        ("Backwards [4-2].", [4, 2]),
        ("From one to itself [3-3].", [3, 3]),
        ("According to [1]: yes.", [1]),
        ("Nothing [0].", [0]),
        ("Take `items[1]` and ``a[2]``.", []),
        ("```python\nx = rows[3]\n```\nas said [2]", [2]),
        ("~~~\nrows[3]\n~~~", []),
        ("```\nrows[3]", []),
        ("Take items[0] or set rows[1] = 5 or call rows[2].append(1).", []),
        ("See [1](https://example.org/a) and [the list](b).", []),
        ("As said [1].\n\n[1]: https://example.org\n", [1]),
        ("In [2023], \\[1\\] and \\[2], [sic], [a1], [].", []),
        ("One ` alone, then [1].", [1]),
        ("Use arr[5] to get the sixth element.", []),
        ("It is m[1][2], rows_of[3], userIds[4], x2[1], list.items[7], get(x)[1] or jq .[3].", []),
        ("Values are in [0, 100], scores in the interval [1, 10], der Bereich [1, 5].", []),
        ("Set x = [1, 2, 3] or call sorted([3, 1]).", []),
        ("It is \\sqrt[3]{8}, $x^{[2]}$, $$a[1] = 3$$ and \\(v[2]\\).", []),
        ("Match [0-9], [1-9]+, ^[1-9] or [1-9]\\d*.", []),
        ("See [the list][1] and the footnote[^1].\n\n[1]: https://example.org\n[^1]: A note.", []),
        ("The refund window[1] is 30 days[2], as in 2019[3] and the EU[4].", [1, 2, 3, 4]),
        ("| fee | 5 euros [1] |\n|---|---|\n|[2]| x |", [1, 2]),
        ("As stated in [1, 3]. Is it so [2]? **See [1]**", [1, 3, 2, 1]),
        ("Costs $5 [1] and $6 [2].", [1, 2]),
        ("\uff3b1\uff3d, [2\u20133]", [1, 2, 3]),
        ("\u9000\u6b3e\u671f[1]\u3002", [1]),
    ],
)
def test_a_citation_is_a_number_in_brackets_in_prose(answer: str, numbers: list[int]) -> None:
    """Code, links, definitions, years and what is escaped are no citations."""
    assert citations(answer) == numbers


@pytest.mark.parametrize(
    ("answer", "contexts", "expected"),
    [
        ("a [1] b [2]", ["x", "y"], (1.0, None, {})),
        ("a [1] b [3] c [3] d [0]", ["x", "y"], (0.25, None, {"invalid": [0, 3]})),
        ("a [1]", [], (0.0, "no_contexts", {"invalid": [1]})),
        ("a [1]", None, (None, "no_contexts", {})),
        ("a", ["x"], (None, "no_citations", {})),
        ("", ["x"], (None, "no_citations", {})),
        (None, ["x"], (None, "no_answer", {})),
    ],
)
def test_validity_is_the_share_of_citations_that_point_to_a_context(
    answer: str | None, contexts: list[str] | None, expected: tuple[float | None, str | None, dict[str, Any]]
) -> None:
    """Contexts are counted from 1; each citation counts, and those that point to nothing are named."""
    assert row(answer, contexts) == expected


def test_a_giant_answer_is_read_in_no_time() -> None:
    """A megabyte of brackets and backticks is no trap."""
    for piece in ("[", "[1", "[1,", "`", "```", "``` `", "[1]", "\n```", "[1]:\n", "~~~\n`"):
        citations(piece * 100_000)
