"""Answers that the application extracts from what it retrieved."""

import pytest

from dialwatch.demo.questions import load_questions
from dialwatch.demo.rag.application import shipped_passages
from dialwatch.demo.rag.assistant import RagAnswer, RagAssistant
from dialwatch.demo.rag.extraction import PASSAGES_READ, REFUSAL
from dialwatch.demo.rag.faults import Faults
from lake.spec.texts.refusals import refusal_in

QUESTIONS = load_questions()


@pytest.fixture
def assistant() -> RagAssistant:
    return RagAssistant(shipped_passages())


def answers(assistant: RagAssistant) -> list[RagAnswer]:
    return [assistant.answer(question.text) for question in QUESTIONS]


def share_right(assistant: RagAssistant) -> float:
    right = [
        question.right_answer.lower() in assistant.answer(question.text).extract.text.lower() for question in QUESTIONS
    ]
    return sum(right) / len(right)


def test_most_questions_are_answered_right(assistant: RagAssistant) -> None:
    """Nearly four of five answers hold the right one; few questions that the texts answer are refused."""
    assert share_right(assistant) > 0.78
    assert sum(answer.extract.text == REFUSAL for answer in answers(assistant)) < 0.15 * len(QUESTIONS)


def test_answers_are_sentences_of_their_passages_and_no_whole_passage(assistant: RagAssistant) -> None:
    """Each sentence stands in the passage that it cites, and no passage is copied whole."""
    for answer in answers(assistant):
        extract = answer.extract
        for sentence, place in zip(extract.sentences, extract.cited, strict=True):
            assert sentence in answer.found.retrieved[place].sentences
        for place in extract.cited:
            assert not set(answer.found.retrieved[place].sentences) <= set(extract.sentences)


def test_passages_of_worse_ranks_are_not_read(assistant: RagAssistant) -> None:
    """What stands in none of the first passages is no part of an answer, however well it fits."""
    assistant.faults = Faults(retrieval="shuffled_ranks")
    assert all(place < PASSAGES_READ for answer in answers(assistant) for place in answer.extract.cited)
    assert share_right(assistant) < 0.35


@pytest.mark.parametrize(
    "question", ["What is the boiling point of tungsten?", "How do I cancel my subscription?", "qwertyuiop", "Why?"]
)
def test_what_the_texts_do_not_answer_is_refused(assistant: RagAssistant, question: str) -> None:
    """A refusal cites nothing, and the metric `refusal` reads it as one."""
    answer = assistant.answer(question)
    assert (answer.extract.text, answer.cited) == (REFUSAL, ())
    assert refusal_in(answer.extract.text) is not None


def test_broken_generation_answers_wrong_from_the_right_passages(assistant: RagAssistant) -> None:
    """With the fault what is retrieved stays the same, the answers are other sentences of it, and few are right."""
    before = answers(assistant)
    assistant.faults = Faults(generation="wrong_sentences")
    after = answers(assistant)
    assert [answer.found for answer in after] == [answer.found for answer in before]
    answered = [(old, new) for old, new in zip(before, after, strict=True) if old.cited]
    assert all(new.cited and new.extract.sentences != old.extract.sentences for old, new in answered)
    assert share_right(assistant) < 0.15


def test_faults_can_be_put_right(assistant: RagAssistant) -> None:
    """The switch holds from the next question on, both ways."""
    before = assistant.answer(QUESTIONS[0].text)
    assistant.faults = Faults(retrieval="other_index")
    assert assistant.answer(QUESTIONS[0].text).found != before.found
    assistant.faults = Faults()
    assert assistant.answer(QUESTIONS[0].text) == before
