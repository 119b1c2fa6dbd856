"""Query of the list of answers."""

from __future__ import annotations

from monitor.pages.answers.query import AnswerQuery
from tests.monitor.conftest import NOW

TODAY = NOW.date()


def test_a_link_to_the_list_leads_to_its_first_page() -> None:
    """The usual page is not in the address."""
    query = AnswerQuery("rag", TODAY, TODAY)
    assert query.filter().page == 1
    assert "page=" not in query.address()
    assert "page=2" in query.with_page(2).address()
