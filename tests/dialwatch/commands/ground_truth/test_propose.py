"""`dialwatch ground-truth propose`: a judge makes cases from documents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evaluator.ground_truth.synthetic import cut
from tests.commands import Done, dialwatch
from tests.dialwatch.commands.ground_truth.test_extract import cases, config, server  # noqa: F401 - fixtures
from tests.evaluator.judges.scripted_server import Request, ScriptedServer, Send, fails, says
from tests.evaluator.metrics.llm.judging import prompt, properties

FEE = "The fee of the alpine club is 40 euros a year."
CHUNK = f"{FEE} " + "It is paid in May by all members of the club, who live in many places of the country. " * 4


def proposed(config: Path, documents: Path, *options: object) -> Done:  # noqa: F811
    named = ("--deployment", "rag", "-c", config, "--judge", "strict", "--who", "ann", "--from-documents", documents)
    return dialwatch("ground-truth", "propose", *named, *options)


def judge(question: str = "What does the club cost?", answer: str = "40 euros a year.", **fact: Any) -> Any:
    """A judge that makes this case, and cites the first sentence."""
    cited = {"statement": "The fee is 40 euros.", "sentences": [1], "quote": ""} | fact

    async def act(request: Request, send: Send) -> None:
        is_case = "question" in properties(request)
        reply: Any = {"question": question, "answer": answer} if is_case else {"facts": [cited]}
        await says(json.dumps(reply))(request, send)

    return act


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    """A folder with a document of two chunks, one that says too little, and a picture."""
    folder = tmp_path / "docs"
    (folder / "in").mkdir(parents=True)
    (folder / "in" / "club.md").write_text(f"{CHUNK}\n\n{'A word ' * 200}")
    (folder / "short.txt").write_text("Nothing.")
    (folder / "picture.png").write_bytes(b"\xff\xfe")
    return folder


def test_cases_are_made_from_chunks(config: Path, server: ScriptedServer, documents: Path) -> None:  # noqa: F811
    """Each is proposed and synthetic, has its chunk and facts that stand in it, and is made once."""
    server.always = judge()
    done = proposed(config, documents, "--most", 1, "--document", "files/a.pdf")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("1 cases proposed; 2 calls")
    proposed(config, documents)
    made = [one for one in cases(config).values() if one["origin"] == "synthetic"]
    first = next(one for one in made if FEE in one["context"][0])
    assert (first["status"], first["question"], first["answer"]) == (
        "proposed", "What does the club cost?", "40 euros a year.",
    )  # fmt: skip
    assert first["facts"] == [FEE.removesuffix(".")]
    assert first["context"][0][slice(first["citations"][0]["start"], first["citations"][0]["end"])] == first["facts"][0]
    assert (first["updated_by"], first["source_response_id"]) == ("ann", None)
    assert "club.md" in first["note"]
    assert any(one["documents"] == ["files/a.pdf"] for one in made)
    asked = len(server.requests)
    assert proposed(config, documents).stdout.startswith("0 cases proposed")
    assert all(one["origin"] is None for one in cases(config).values() if one["case_id"] in ("abc", "bcd"))
    assert "<chunk 1 " in prompt(server.requests[0])
    assert len([one for one in server.requests[asked:] if FEE in prompt(one)]) == 0, "a chunk with a case is known"


@pytest.mark.parametrize(
    ("act", "reason"),
    [
        (judge(question=""), "the chunk answers nothing that anybody would ask"),
        (judge(answer="41 euros."), "the answer has a number that the chunk lacks"),
        (judge(quote="The fee is not 40 euros"), "nothing in the chunk supports the answer"),
        (fails(400, "content_filter"), "judge_content_filter"),
    ],
)
def test_a_chunk_without_a_right_answer_makes_no_case(
    config: Path,  # noqa: F811
    server: ScriptedServer,  # noqa: F811
    tmp_path: Path,
    act: Any,
    reason: str,
) -> None:
    """What was asked is paid and told, and nothing is written."""
    (tmp_path / "one.txt").write_text(CHUNK)
    server.always = act
    done = proposed(config, tmp_path / "one.txt")
    assert done.returncode == 0
    assert done.stdout.startswith("0 cases proposed")
    assert f"1 chunks without a case: {reason}" in done.stdout
    assert set(cases(config)) == {"abc", "bcd"}


def test_what_cannot_be_read_is_explained(config: Path, tmp_path: Path) -> None:  # noqa: F811
    (tmp_path / "empty").mkdir()
    (tmp_path / "a.txt").write_bytes(b"\xff\xff")
    for path, message in (("empty", "holds no file"), ("no.txt", "cannot read"), ("a.txt", "is no text in UTF-8")):
        done = proposed(config, tmp_path / path)
        assert (done.returncode, message in done.stderr) == (2, True)


def test_chunks_are_whole_paragraphs() -> None:
    """As many as fit into 1,500 characters; a longer one stays whole."""
    paragraphs = ["a" * 700, "b" * 700, "c" * 2_000, "d"]
    assert list(cut("\n\n \n".join(paragraphs))) == ["a" * 700 + "\n\n" + "b" * 700, "c" * 2_000, "d"]
    assert list(cut(" \n\n ")) == []
