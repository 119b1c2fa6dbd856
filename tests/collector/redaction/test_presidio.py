from __future__ import annotations

import importlib.util
import json
import socket

import pytest

from collector.parsing import LogRecord, parse_line
from collector.redaction import PresidioSettings, RedactionSettings, Redactor
from tests.collector.lines import chat_line

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("spacy") is None, reason="install dialwatch[redaction]: THESE TESTS DID NOT RUN"
)

KEY = "a key of the tests"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A pipeline made here, that knows one person's name."""
    # Its import takes seconds, which a process that runs other tests need not wait for.
    import spacy

    pipeline = spacy.blank("en")
    pipeline.add_pipe("entity_ruler").add_patterns([{"label": "PERSON", "pattern": "Ada Lovelace"}])
    folder = tmp_path_factory.mktemp("model")
    pipeline.to_disk(folder)
    return str(folder)


def test_names_are_found_in_texts_and_in_json(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What Presidio finds is replaced by its kind, JSON stays JSON, and the network is not asked."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    presidio = PresidioSettings(model=model, entities=["PERSON"])
    redactor = Redactor(RedactionSettings(patterns=["email"], presidio=presidio, key=KEY))
    body = json.dumps({"messages": [{"role": "user", "content": "Who was\nAda Lovelace? ada@example.org"}]})
    line = chat_line(1, request=json.loads(chat_line(1))["request"] | {"body": body})
    record = redactor.redact(parse_line(line))
    assert isinstance(record, LogRecord)
    assert record.question == "Who was\n[PERSON]? [EMAIL]"
    assert json.loads(record.request_body or "")["messages"][0]["content"] == record.question


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model": "no_such_model", "entities": ["PERSON"]}, "python -m spacy download no_such_model"),
        ({"entities": ["PERSN"]}, "knows no entity PERSN"),
    ],
)
def test_what_is_missing_is_said_at_the_start(model: str, settings: dict[str, object], message: str) -> None:
    """A model that is not there is not downloaded, and a misspelt entity is refused."""
    presidio = PresidioSettings.model_validate({"model": model} | settings)
    with pytest.raises(ValueError, match=message):
        Redactor(RedactionSettings(presidio=presidio, key=KEY))
