from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from collector.parsing.request.documents import documents_of


def user(*attachments: Any) -> dict[str, Any]:
    return {"attachments": list(attachments)}


def test_union_over_the_history() -> None:
    """Documents of all user messages count once each, in the order in which they were first attached."""
    messages = [
        user({"type": "application/pdf", "url": "files/b/1.pdf", "title": "One"}),
        None,
        user({"title": "Two", "data": "x"}, {"url": "files/b/1.pdf"}),
        user(),
    ]
    assert documents_of(messages) == ("files/b/1.pdf", "Two")


def test_inline_documents_have_different_names() -> None:
    """A document with neither url nor title is named by its data: the same data, the same name."""
    first, second = documents_of([user({"data": "x"}, {"data": "y"}, {"data": "x"})])
    assert first.startswith("inline:")
    assert second.startswith("inline:")
    assert first != second
    assert documents_of([user({"data": "x"})]) == (first,)


def test_odd_attachments_cost_only_themselves() -> None:
    """What is no attachment, or has no name, is left out; the others stay."""
    assert documents_of([user(None, 5, {}, {"url": 7}, {"url": ""}, {"url": "u"})]) == ("u",)
    assert documents_of([{"attachments": {"url": "u"}}]) == ()


@given(attachments=st.lists(st.dictionaries(st.sampled_from(["url", "title", "data"]), st.text() | st.none())))
def test_names_are_distinct(attachments: list[dict[str, Any]]) -> None:
    """However documents are attached, each name comes once and none is empty."""
    names = documents_of([user(*attachments)])
    assert len(set(names)) == len(names)
    assert all(names)
