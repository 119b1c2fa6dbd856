from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.parsing.request.documents import documents_of, shown_in


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


def test_a_link_without_url_and_title_is_named_by_what_it_refers_to() -> None:
    """Its data is the text of that page."""
    page = "https://example.com/a"
    assert documents_of([user({"type": "text/html", "reference_url": page}, {"data": "x", "reference_url": page})]) == (
        page,
    )


def test_odd_attachments_cost_only_themselves() -> None:
    """What is no attachment, or has no name, is left out; the others stay."""
    assert documents_of([user(None, 5, {}, {"url": 7}, {"url": ""}, {"url": "u"})]) == ("u",)
    assert documents_of([{"attachments": {"url": "u"}}]) == ()


@pytest.mark.parametrize(
    ("part", "name"),
    [
        ({"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,AA"}}, "a.pdf"),
        ({"type": "file", "file": {"file_id": "file-1"}}, "file-1"),
        ({"type": "input_file", "file_url": "https://x/a.pdf"}, "https://x/a.pdf"),
        ({"type": "document", "title": "a.txt", "source": {"type": "text", "data": "Hi"}}, "a.txt"),
        ({"type": "document", "source": {"type": "url", "url": "https://x/a.pdf"}}, "https://x/a.pdf"),
        ({"type": "input_image", "image_url": "https://x/a.png"}, "https://x/a.png"),
    ],
)
def test_files_in_the_content_are_documents(part: dict[str, Any], name: str) -> None:
    """In the words of chat completions, responses and the Messages API; one without a name is left out."""
    nameless = {"type": "document", "source": {"type": "base64", "data": "AA"}}
    assert shown_in([{"type": "text", "text": "See", "title": "no"}, nameless, part, 5]) == (name,)


def test_an_image_in_the_message_is_named_by_a_hash_of_it() -> None:
    """In the words of the Messages API too, and not of what stands beside it."""

    def image(data: str) -> dict[str, Any]:
        return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}

    first, second, again = shown_in([image("AA"), image("BB"), image("AA")])
    assert first.startswith("inline:")
    assert first == again != second
    assert shown_in([{"type": "image", "source": {"type": "base64", "media_type": "image/png"}}]) == ()


@given(attachments=st.lists(st.dictionaries(st.sampled_from(["url", "title", "data"]), st.text() | st.none())))
def test_names_are_distinct(attachments: list[dict[str, Any]]) -> None:
    """However documents are attached, each name comes once and none is empty."""
    names = documents_of([user(*attachments)])
    assert len(set(names)) == len(names)
    assert all(names)
