import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.parsing.contexts import Context, contexts_of_prompt, read_contexts, standalone_question

URL = "files/b/doc.pdf#page=3"


def chunk(text: str, title: str = "[0.3] 'doc.pdf'", url: str = URL) -> dict[str, Any]:
    return {"type": "text/markdown", "title": title, "data": text, "reference_url": url}


def stage(name: str, *attachments: Any, content: str | None = None) -> dict[str, Any]:
    return {"name": name, "status": "completed", "attachments": list(attachments), "content": content}


DIAL_RAG = {
    "stages": [
        stage("Access document 'doc.pdf' [0.10s]"),
        {},
        stage("Standalone question [0.52s]", content="What is the refund window?\n"),
        stage("Combined search [0.12s]", chunk("second"), {}, chunk("first", "[1.7] 'b.txt'", "files/b/b.txt")),
        stage("Embeddings search [0.05s]", *[chunk(f"candidate {rank}") for rank in range(7)]),
        stage("Keywords search [0.01s]", chunk("other")),
    ],
    "attachments": [chunk("first", "[1] 'b.txt'")],
    "state": {"config_digest": {}},
}
FUSED = (
    Context("second", "doc.pdf", URL, 3, "0.3"),
    Context("first", "b.txt", "files/b/b.txt", None, "1.7"),
)
RETRIEVAL = {
    "type": "application/x.aidial-rag.retrieval-response+json",
    "title": "Retrieval response",
    "data": json.dumps(
        {
            "chunks": [
                {"attachment_url": "files/b/doc.pdf", "source": {"url": URL, "display_name": "doc.pdf"}, "text": "one",
                 "page": {"number": 3, "image_index": 0}},
                {"attachment_url": "files/b/x.png", "source": {}, "text": None, "page": None},
            ],
            "images": [{"data": "AAAA"}],
        }
    ),
}  # fmt: skip


def test_dial_rag() -> None:
    """The fused stage is found by its name although it stands before its inner stages; order is rank."""
    assert read_contexts(DIAL_RAG, ()) == (FUSED, "retrieval_stage")
    assert standalone_question(DIAL_RAG) == "What is the refund window?"


def test_the_cited_source_counts_before_the_file_that_holds_the_chunk() -> None:
    """`reference_url` names the document and its page; `url`, which may stand beside it, only where the text lies."""
    attachment = chunk("text") | {"url": "files/b/chunks/17.md"}
    for content in ({"stages": [stage("Combined search", attachment)]}, {"attachments": [attachment]}):
        ((context,), _) = read_contexts(content, ())
        assert (context.url, context.page) == (URL, 3)
    stages = [stage("Combined search", attachment | {"reference_url": ""})]
    ((context,), _) = read_contexts({"stages": stages}, ())
    assert context.url == "files/b/chunks/17.md"


MADE = [
    {"type": "text/x-python", "title": "result", "data": "print(sum([3, 5]) / 2)"},
    {"type": "text/csv", "title": "table.csv", "data": "a,b\n1,2"},
    {"type": "text/markdown", "title": "Revised prompt", "data": "A cat in a hat"},
    {"title": "result", "data": "4.0"},
    {"type": "application/json", "title": "rows", "data": "[1]", "url": "files/u/rows.json"},
    {"type": "application/vnd.plotly.v1+json", "title": "plot", "data": "{}"},
]


@pytest.mark.parametrize("made", MADE, ids=lambda made: str(made["title"]))
def test_what_an_application_made_is_no_context(made: dict[str, Any]) -> None:
    """An attachment of the message without a reference is its output; beside cited chunks it takes no rank."""
    assert read_contexts({"attachments": [made]}, ()) == ((), "none")
    contexts, origin = read_contexts({"attachments": [made, chunk("a")]}, ())
    assert ([context.text for context in contexts], origin) == (["a"], "cited")
    contexts, origin = read_contexts({"stages": [stage("Run", made), stage("Web", made, chunk("a"))]}, ())
    assert ([context.text for context in contexts], origin) == (["a"], "retrieval_stage")


@pytest.mark.parametrize("kind", ["text/markdown", "text/csv", "text/html; charset=utf-8", "Text/Plain", None])
def test_a_text_with_a_reference_is_a_chunk_of_a_document(kind: str | None) -> None:
    """Whatever sort of text the document is."""
    contexts, origin = read_contexts({"attachments": [chunk("a") | {"type": kind}]}, ())
    assert ([context.text for context in contexts], origin) == (["a"], "cited")


@pytest.mark.parametrize(
    "name",
    [
        "All documents [1s]",
        "[DEBUG] Combined search [0.12s]",
        "Combined search (classic)",
        "policies (classic) [12.00s]",
    ],
)
def test_names_of_the_fused_stage(name: str) -> None:
    """Durations and the debug mark are no part of a stage's name."""
    stages = [stage("Embeddings search [0.1s]", chunk("inner")), stage(name, chunk("fused"))]
    contexts, origin = read_contexts({"stages": stages}, ())
    assert ([context.text for context in contexts], origin) == (["fused"], "retrieval_stage")


def test_an_unknown_retriever() -> None:
    """Without a known name the first stage with texts and their sources counts."""
    stages = [stage("Plan", {"title": "plan.md", "data": "plan"}), stage("Web", chunk("a"), chunk("b"))]
    contexts, origin = read_contexts({"stages": [*stages, stage("More", chunk("c"))]}, ())
    assert ([context.text for context in contexts], origin) == (["a", "b"], "retrieval_stage")


@pytest.mark.parametrize("place", ["message", "stage"])
def test_a_retrieval_response(place: str) -> None:
    """A retrieval response goes before all else, wherever it is attached; a chunk without text keeps its rank."""
    content = {**DIAL_RAG, "attachments": [RETRIEVAL]} if place == "message" else {"stages": [stage("x", RETRIEVAL)]}
    assert read_contexts(content, ()) == (
        (Context("one", "doc.pdf", URL, 3), Context("", None, "files/b/x.png")),
        "retrieval_response",
    )


def test_an_empty_retrieval_response() -> None:
    """A retrieval that found nothing is known to have found nothing."""
    empty = {**RETRIEVAL, "data": '{"chunks":[],"images":[]}'}
    assert read_contexts({"attachments": [empty]}, ()) == ((), "retrieval_response")


def test_an_unreadable_retrieval_response() -> None:
    """One that cannot be read leaves the place to the next origin."""
    broken = {**RETRIEVAL, "data": '{"chunks":['}
    assert read_contexts({**DIAL_RAG, "attachments": [broken]}, ()) == (FUSED, "retrieval_stage")


def test_cited_documents() -> None:
    """With stages that hold nothing, a message's own attachments are the chunks that the answer cites."""
    generic = [
        chunk("see ![Page #3](data:image/jpeg;base64,/9j/4AA=)\n\nmore", "[1] report, page 3", "files/u/copy.pdf"),
        {"type": "image/png", "title": "chart", "data": "iVBORw0KGgo"},
        {"type": "application/vnd.plotly.v1+json", "title": "plot", "data": "{}"},
        {"type": "application/pdf", "title": "made.pdf", "url": "files/u/made.pdf"},
        {"type": "image/png", "title": "[2] scan", "data": "iVBORw0KGgo", "reference_url": "files/u/scan.png"},
    ]  # fmt: skip
    contexts, origin = read_contexts({"stages": [stage("Searching documents")], "attachments": generic}, ())
    assert origin == "cited"
    assert contexts == (
        Context("see \n\nmore", "report, page 3", "files/u/copy.pdf", 3, "1"),
        Context("", "scan", "files/u/scan.png", None, "2"),
    )


def test_titles_of_a_combined_search_give_ids_and_the_place_gives_the_rank() -> None:
    """Log format 4.1: the bracket of a title is the document's and the chunk's number, in whichever order they rank."""
    titles = ["[1.7] 'b.txt'", "[0.3] [Draft] a.txt", "[1.7] b.txt, page 2", "[3] plan.pdf", "plain.txt"]
    contexts, origin = read_contexts(
        {"stages": [stage("Combined search", *[chunk("t", title) for title in titles])]}, ()
    )
    assert origin == "retrieval_stage"
    assert [context.id for context in contexts] == ["1.7", "0.3", "1.7", "3", None]
    assert [context.title for context in contexts] == [
        "b.txt",
        "[Draft] a.txt",
        "b.txt, page 2",
        "plan.pdf",
        "plain.txt",
    ]


def test_a_chunk_with_a_url_only_keeps_its_rank() -> None:
    """A retrieved file without text stands at its place with an empty text."""
    content = {"stages": [stage("Combined search", {"title": "[0.1] 'a'", "url": "files/b/a#page=2"}, chunk("b"))]}
    contexts, _ = read_contexts(content, ())
    assert contexts[0] == Context("", "a", "files/b/a#page=2", 2, "0.1")
    assert contexts[1].text == "b"


@pytest.mark.parametrize(
    "data",
    [" ", "[Image]", "[Image of the page 12]", "", None, 5, "![Image of page #1](data:image/png;base64,AAAA)\n",
     "![](data:image/png;base64,AAAA"],
)  # fmt: skip
def test_images_have_no_text(data: Any) -> None:
    """Placeholders and images are no usable text."""
    contexts, _ = read_contexts({"stages": [stage("Combined search", {**chunk(""), "data": data}, chunk("b"))]}, ())
    assert [context.text for context in contexts] == ["", "b"]


@pytest.mark.parametrize(
    "url",
    [
        "files/b/doc.pdf#page=99999999999999999999",
        "files/b/doc.pdf#page=9999999999",
        "files/b/doc.pdf#page=x",
        "doc.pdf",
    ],
)
def test_odd_pages(url: str) -> None:
    """A page that no 32-bit number can hold, or none, is null."""
    assert read_contexts({"attachments": [chunk("a", url=url)]}, ())[0][0].page is None


def test_the_order_of_origins() -> None:
    """A prompt's chunks count only where the answer itself shows none."""
    prompt = (Context("p"),)
    assert read_contexts({}, prompt) == (prompt, "prompt")
    assert read_contexts({"attachments": [chunk("c")]}, prompt)[1] == "cited"
    assert read_contexts({}, ()) == ((), "none")
    assert standalone_question({}) is None


def test_the_prompt_of_dial_rag() -> None:
    """Chunks in the prompt are what the model saw: text, source, page and number of each."""
    prompt = "\n".join(
        ["What?", "<context>",
         "<doc id='1' page_number='3' source='files/b/O'Neil.pdf' title='O'Neil'>\nfirst > text\nwith </doc> in it\n",
         "</doc>\n", "<doc id='2' document='report'>\n", "</doc>\n", "</context>"]
    )  # fmt: skip
    assert contexts_of_prompt(prompt) == (
        Context("first > text\nwith </doc> in it", "O'Neil", "files/b/O'Neil.pdf", 3, "1"),
        Context("", "report", None, None, "2"),
    )


@pytest.mark.parametrize("name", ["P<Q report.pdf", "a < b > c.pdf", "<draft>.pdf", "x</b>.html", "1 <2> 'three'.txt"])
def test_a_name_in_a_prompt_may_hold_angle_brackets(name: str) -> None:
    """A chunk keeps its name, and the next one its own text."""
    prompt = (
        f"<context>\n<doc id='1' document='{name}' page_number='1'>\none\n</doc>\n<doc id='2'>\ntwo\n</doc>\n</context>"
    )
    assert contexts_of_prompt(prompt) == (Context("one", name, None, 1, "1"), Context("two", None, None, None, "2"))


def test_a_prompt_in_one_piece() -> None:
    """Line ends around the marks are not needed."""
    prompt = '<context><doc id="1">one</doc><doc id="2">two</doc></context>'
    assert [(context.id, context.text) for context in contexts_of_prompt(prompt)] == [("1", "one"), ("2", "two")]
    assert contexts_of_prompt("<doc id='1'>x</doc>") == ()


TEXTS = st.text() | st.sampled_from(["Combined search [1s]", "All documents", URL, "[1] x", RETRIEVAL["type"]])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(["stages", "attachments", "name", "type", "title", "data", "reference_url", "url", "content"]),
        inner, max_size=5),
    max_leaves=15,
)  # fmt: skip


@given(value=VALUES | st.dictionaries(st.sampled_from(["stages", "attachments"]), VALUES))
def test_anything_at_all(value: Any) -> None:
    """Whatever a message's custom content is, contexts of the declared types come out."""
    contexts, origin = read_contexts(value, ())
    assert origin in ("retrieval_response", "retrieval_stage", "cited", "none")
    for context in contexts:
        assert isinstance(context.text, str)
        assert isinstance(context.title, str | None)
        assert isinstance(context.url, str | None)
        assert isinstance(context.page, int | None)
        assert isinstance(context.id, str | None)
    standalone_question(value)


@given(text=st.text() | st.text("<doc>/= '\"id\n").map(lambda text: "<context>\n<doc id='1'>" + text))
def test_any_prompt(text: str) -> None:
    """Any prompt gives chunks that are parts of it."""
    assert all(context.text in text for context in contexts_of_prompt(text))


@pytest.mark.parametrize(
    "piece",
    [
        "</doc><doc a='",
        "</doc><doc a='<",
        "<doc a='",
        "![](data:",
        "![",
        "[Image]",
        "<doc id='1'>",
        " \n",
        "a='a=\"",
        "</doc>",
    ],
)
def test_long_odd_texts_take_no_long_time(piece: str) -> None:
    """Texts made to let a pattern search again and again are read like others."""
    text = piece * (400_000 // len(piece))
    contexts_of_prompt("<context>" + text)
    read_contexts({"attachments": [chunk(text, title="[1] " + text, url=text)]}, ())
