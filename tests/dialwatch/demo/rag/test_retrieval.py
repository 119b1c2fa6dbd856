"""What the application finds, and how its retrieval breaks."""

import pytest

from dialwatch.demo.questions import Question, load_questions
from dialwatch.demo.rag.application import shipped_passages
from dialwatch.demo.rag.extraction import PASSAGES_READ
from dialwatch.demo.rag.faults import RetrievalFault
from dialwatch.demo.rag.passages import Passage, passages_of
from dialwatch.demo.rag.retrieval import CANDIDATES, RETRIEVED, Retriever

QUESTIONS = load_questions()


@pytest.fixture(scope="module")
def retriever() -> Retriever:
    return Retriever(shipped_passages())


def finds(
    retriever: Retriever, question: Question, fault: RetrievalFault | None = None, first: int = RETRIEVED
) -> bool:
    found = retriever.search(question.text, fault).retrieved[:first]
    return any(question.grounded_answer in passage.text for passage in found)


def share_found(retriever: Retriever, fault: RetrievalFault | None = None, first: int = RETRIEVED) -> float:
    return sum(finds(retriever, question, fault, first) for question in QUESTIONS) / len(QUESTIONS)


def test_texts_lie_on_pages_in_passages_of_several_sentences() -> None:
    """No sentence is lost or moved to another document, and no passage crosses a page."""
    texts = [(f"First of {number}.", f"Second of {number}.") for number in range(8)]
    passages = passages_of(texts, ["files/b/a.pdf", "files/b/b.pdf"])
    assert [sentence for passage in passages for sentence in passage.sentences] == [
        line for text in texts for line in text
    ]
    assert [(passage.name, passage.page) for passage in passages] == [
        ("a.pdf", 1),
        ("a.pdf", 2),
        ("b.pdf", 1),
        ("b.pdf", 2),
    ]
    assert [(passage.document, passage.chunk) for passage in passages] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert passages[1].reference == "files/b/a.pdf#page=2"
    shipped = shipped_passages()
    assert len({(passage.document, passage.chunk) for passage in shipped}) == len(shipped)
    assert min(len(passage.sentences) for passage in shipped) > 1


def test_the_passage_with_the_answer_is_found(retriever: Retriever) -> None:
    """Of the shipped questions nearly all find the passage that answers them."""
    assert share_found(retriever) > 0.95
    assert share_found(retriever, first=PASSAGES_READ) > 0.95


def test_shuffled_ranks_find_it_and_mostly_not_among_the_first(retriever: Retriever) -> None:
    """The passage with the answer is retrieved as ever, at a rank that the answer is mostly not made from."""
    assert share_found(retriever, "shuffled_ranks") == share_found(retriever)
    assert share_found(retriever, "shuffled_ranks", first=PASSAGES_READ) < 0.5


@pytest.mark.parametrize(("fault", "most"), [("other_index", 0.35), ("fewer_chunks", 0.95)])
def test_broken_retrieval_finds_less(retriever: Retriever, fault: RetrievalFault, most: float) -> None:
    """Each fault costs passages, and it still finds something for nearly every question."""
    assert share_found(retriever, fault) < most
    found = sum(bool(retriever.search(question.text, fault).retrieved) for question in QUESTIONS)
    assert found > 0.95 * len(QUESTIONS)


@pytest.mark.slow
def test_each_fault_is_what_it_says(retriever: Retriever) -> None:
    """Fewer passages are the best one alone; shuffled ones are in another order; the old index has a quarter."""
    for question in QUESTIONS[:50]:
        whole = retriever.search(question.text)
        assert whole.candidates[:RETRIEVED] == whole.retrieved
        assert 0 < len(whole.retrieved) <= RETRIEVED
        assert len(whole.candidates) <= CANDIDATES
        assert retriever.search(question.text, "fewer_chunks").retrieved == whole.retrieved[:1]
        shuffled = retriever.search(question.text, "shuffled_ranks").retrieved
        assert shuffled != whole.retrieved
        assert set(shuffled) == set(whole.retrieved)
        old = set(shipped_passages()[::4])
        assert set(retriever.search(question.text, "other_index").candidates) <= old


def test_equal_questions_find_equal_passages(retriever: Retriever) -> None:
    """Another index of the same texts finds the same, shuffled or not."""
    other = Retriever(shipped_passages())
    for question in QUESTIONS[:50]:
        assert retriever.search(question.text) == other.search(question.text)
        assert retriever.search(question.text, "shuffled_ranks") == other.search(question.text, "shuffled_ranks")


def test_a_question_without_a_known_word_finds_nothing(retriever: Retriever) -> None:
    """Neither words that no text has nor words that every text has find a passage."""
    assert retriever.search("qwertyuiop").retrieved == ()
    assert retriever.search("What is the?").retrieved == ()


def test_nothing_to_search_is_refused() -> None:
    """An index needs a passage; one of function words alone is found by no question."""
    with pytest.raises(ValueError, match="at least one"):
        Retriever([])
    assert Retriever([Passage(("It is.",), "a.pdf", 1, 0, 0)]).search("What is it?").retrieved == ()
