"""What can be planted, and what changes by itself."""

from __future__ import annotations

from enum import StrEnum


class Planted(StrEnum):
    """The one change that an incident has as its cause."""

    MODEL = "model"
    PARAMETER = "parameter"
    SYSTEM_PROMPT = "system_prompt"
    TOOLS = "tools"
    CHUNKS = "chunks"
    CONTEXT_LENGTH = "context_length"
    DOCUMENTS = "documents"
    RETRIEVAL = "retrieval"
    LATENCY = "latency"
    FINISH_REASONS = "finish_reasons"
    CHILD_ERRORS = "child_errors"
    LANGUAGE = "language"
    CLIENT = "client"
    DEPLOYMENT_CALLED = "deployment_called"


RELEASES = (Planted.PARAMETER, Planted.SYSTEM_PROMPT, Planted.TOOLS, Planted.CHUNKS)
"""Changes that may also have been made long before an incident."""


class Harmless(StrEnum):
    """A shift within what is usual: such shifts come and go all the time, and some begin with an incident."""

    MORE_OF_A_CLIENT = "more_of_a_client"
    SLOWER = "slower"
    FASTER = "faster"
    MORE_OF_A_LANGUAGE = "more_of_a_language"
    LONGER_QUESTIONS = "longer_questions"
    MORE_OF_A_TOPIC = "more_of_a_topic"
    NEW_DOCUMENT = "new_document"


class PromptStyle(StrEnum):
    """Where an application puts what it retrieved: some have in the system prompt what differs with each call."""

    CONTEXTS_WITH_QUESTION = "contexts_with_question"
    DATE_IN_SYSTEM = "date_in_system"
    CONTEXTS_IN_SYSTEM = "contexts_in_system"
