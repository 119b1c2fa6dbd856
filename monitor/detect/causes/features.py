"""Features of an answer that may change, and how likely a change of each is a cause and not a consequence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Feature(StrEnum):
    """What is compared before and after an onset; the names stand in the details of alerts."""

    MODEL = "model"
    DEPLOYMENTS_CALLED = "deployments_called"
    SYSTEM_PROMPT = "system_prompt"
    TOOLS = "tools"
    PARAMETER = "parameter"
    WITHOUT_RETRIEVAL = "without_retrieval"
    CHUNKS = "chunks"
    CHUNK_LENGTH = "chunk_length"
    CONTEXT_AGE = "context_age"
    DOCUMENTS = "documents"
    CHILD_ERRORS = "child_errors"
    CALLS = "calls"
    LANGUAGE = "language"
    USER = "user"
    USER_TITLE = "user_title"
    PROJECT = "project"
    CLIENT = "client"
    QUESTION_LENGTH = "question_length"
    MESSAGES = "messages"
    ERRORS = "errors"
    FINISH_REASON = "finish_reason"
    LATENCY = "latency"
    PROMPT_TOKENS = "prompt_tokens"
    COMPLETION_TOKENS = "completion_tokens"


class FeatureKind(StrEnum):
    """How the values of a feature are compared."""

    NUMBER = "number"
    CATEGORY = "category"
    SET = "set"
    """A value has several parts, such as the documents of an answer; each counts by its share of them."""
    MEMBERS = "members"
    """The same; each counts whole where it is there."""
    TEXT = "text"
    """A value is the hashes of a text's lines; those that many answers share are what is compared."""


@dataclass(frozen=True)
class FeatureSpec:
    """How a feature is compared and said.

    `weight` ranks causes before what follows from them: where fewer chunks are sent, tokens and latency fall too.
    `is_named` says whether its values may be shown to those who may not read texts.
    """

    kind: FeatureKind
    words: str
    weight: float
    is_named: bool = False
    unit: str = ""


SPECS: Mapping[Feature, FeatureSpec] = {
    Feature.MODEL: FeatureSpec(FeatureKind.CATEGORY, "model", 1.0, is_named=True),
    Feature.DEPLOYMENTS_CALLED: FeatureSpec(FeatureKind.MEMBERS, "deployments called", 0.97, is_named=True),
    Feature.SYSTEM_PROMPT: FeatureSpec(FeatureKind.TEXT, "system prompt", 0.95),
    Feature.TOOLS: FeatureSpec(FeatureKind.TEXT, "tools", 0.95),
    Feature.PARAMETER: FeatureSpec(FeatureKind.CATEGORY, "parameter", 0.95, is_named=True),
    Feature.CHILD_ERRORS: FeatureSpec(FeatureKind.NUMBER, "answers with a failed call", 0.94, unit="%"),
    Feature.WITHOUT_RETRIEVAL: FeatureSpec(FeatureKind.NUMBER, "answers without retrieval", 0.92, unit="%"),
    Feature.CONTEXT_AGE: FeatureSpec(FeatureKind.NUMBER, "age of contexts", 0.9, unit=" days"),
    Feature.DOCUMENTS: FeatureSpec(FeatureKind.SET, "documents retrieved", 0.88),
    Feature.CHUNKS: FeatureSpec(FeatureKind.NUMBER, "chunks per answer", 0.88),
    Feature.CHUNK_LENGTH: FeatureSpec(FeatureKind.NUMBER, "characters per chunk", 0.86),
    Feature.PROJECT: FeatureSpec(FeatureKind.CATEGORY, "project", 0.8, is_named=True),
    Feature.CLIENT: FeatureSpec(FeatureKind.CATEGORY, "client", 0.8, is_named=True),
    Feature.LANGUAGE: FeatureSpec(FeatureKind.CATEGORY, "language", 0.8, is_named=True),
    Feature.USER: FeatureSpec(FeatureKind.CATEGORY, "users", 0.7),
    Feature.USER_TITLE: FeatureSpec(FeatureKind.CATEGORY, "job titles of users", 0.6),
    Feature.CALLS: FeatureSpec(FeatureKind.NUMBER, "calls per answer", 0.6),
    Feature.QUESTION_LENGTH: FeatureSpec(FeatureKind.NUMBER, "characters per question", 0.6),
    Feature.MESSAGES: FeatureSpec(FeatureKind.NUMBER, "messages per request", 0.6),
    Feature.ERRORS: FeatureSpec(FeatureKind.NUMBER, "failed answers", 0.55, unit="%"),
    Feature.FINISH_REASON: FeatureSpec(FeatureKind.CATEGORY, "finish reason", 0.5, is_named=True),
    Feature.LATENCY: FeatureSpec(FeatureKind.NUMBER, "latency", 0.45, unit=" ms"),
    Feature.COMPLETION_TOKENS: FeatureSpec(FeatureKind.NUMBER, "completion tokens", 0.42),
    Feature.PROMPT_TOKENS: FeatureSpec(FeatureKind.NUMBER, "prompt tokens", 0.4),
}
