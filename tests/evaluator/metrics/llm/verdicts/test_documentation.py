import inspect

from evaluator.metrics.llm import verdicts
from evaluator.metrics.llm.verdicts.documentation import TOPICS, functions, topics_of


def test_every_public_function_says_what_its_number_is() -> None:
    """Formula, source, what it gives on nothing and for missing verdicts, and where packages disagree."""
    public = {name for name in verdicts.__all__ if inspect.isfunction(getattr(verdicts, name))}
    assert public - set(functions()) == {"odd_strictness"}
    for name, function in functions().items():
        assert set(TOPICS) - set(topics_of(function)) <= {"Gives"}, name
