"""Query of the list of answers."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from lake.queries.failures import AnswerStatus, FailureKind
from lake.queries.ratings import AnswerLabel, AnswerRating
from monitor.pages.answers.query import AnswerQuery, BadQueryError, Column
from tests.monitor.conftest import NOW

TODAY = NOW.date()


def test_a_link_to_the_list_leads_to_its_first_page() -> None:
    """The usual page is not in the address."""
    query = AnswerQuery("rag", TODAY, TODAY)
    assert query.filter().page == 1
    assert "page=" not in query.address()
    assert "page=2" in query.with_page(2).address()


def test_an_address_has_every_field() -> None:
    """What the list was found by stands in its address, and is read from there as it was."""
    fields: dict[str, Any] = {"metric": "f", "below": 0.5, "rating": AnswerRating.LIKED, "label": AnswerLabel.WRONG}
    fields |= {"status": AnswerStatus.OK, "failure": FailureKind.CUT, "id": "e1", "words": "a b", "user": "u&1"}
    fields |= {"model": "gpt 4/o", "slower_than": 2.5, "cost_over": 0.001, "comment": "bad=1", "client": "p/1"}
    fields |= {"tool": "orders/get &1"}
    fields |= {"columns": (Column.RATING, Column.USER), "sort": "g", "order": "asc", "page": 3}
    query = AnswerQuery("rag", TODAY, TODAY, entries_only=False, **fields)
    assert AnswerQuery.read(dict(parse_qsl(urlsplit(query.address()).query)), NOW) == query
    found = query.filter()
    assert (found.user, found.model, found.slower_than, found.cost_over) == ("u&1", "gpt 4/o", 2.5, 0.001)
    assert (found.comment, found.client, found.tool) == ("bad=1", "p/1", "orders/get &1")


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("slower_than", "slow", "A limit in seconds is a number, such as 0.5"),
        ("cost_over", "nan", "A limit of costs is a number, such as 0.5"),
        ("columns", "texts,prompt", "Columns are some of texts, scores"),
        ("comment", "c" * 100_000, "The words to search in comments have at most"),
        ("client", "c" * 100_000, "The name of a client has at most"),
        ("user", "u" * 100_000, "The id of a user has at most"),
        ("model", "m" * 100_000, "The name of a model has at most"),
        ("tool", "t" * 100_000, "The name of a tool has at most"),
    ],
    ids=["slower_than", "cost_over", "columns", "comment", "client", "user", "model", "tool"],
)
def test_a_field_that_cannot_be_used_says_what_it_takes(field: str, value: str, message: str) -> None:
    with pytest.raises(BadQueryError, match=message):
        AnswerQuery.read({"deployment": "rag", field: value}, NOW)
