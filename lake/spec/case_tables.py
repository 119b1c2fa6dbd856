"""Tables of ground truth: the cases of a deployment, and what it answers when it is asked them again."""

from __future__ import annotations

import pyarrow as pa

from lake.spec.case_vocabulary import CaseOrigin, CaseStatus, ReplayVerdict
from lake.spec.table_spec import (
    CITATION,
    CONTEXT,
    EXPECTED_CALL,
    REPLAY_SCORE,
    STRINGS,
    TIMESTAMP,
    TableSpec,
    described,
)
from lake.spec.vocabulary import one_of

GROUND_TRUTH = TableSpec(
    "ground_truth",
    "One row a version of a case: a question with what a right answer says and must be based on. A change of a case is "
    "a row with the next version.",
    described(
        ("case_id", pa.string(), "Case; with `version` unique."),
        ("deployment", pa.string(), "As in parsed_logs."),
        (
            "version",
            pa.int64(),
            "Counts the changes of the case from 1; the row with the highest is the case as it is. Null is 1.",
        ),
        (
            "question",
            pa.string(),
            "What is asked. It says so by itself unless `conversation_hash` is there: the first "
            "question of a conversation as it was sent, the standalone question where others came before it.",
        ),
        (
            "conversation_hash",
            pa.string(),
            "prefix_hash of the answer that the case was made from, if the question "
            "means something in its conversation alone: it is then the same question in no other one.",
        ),
        ("documents", STRINGS, "Documents in scope."),
        ("facts", STRINGS, "Texts that the retrieved chunks must contain."),
        (
            "citations",
            pa.list_(CITATION),
            "Of each fact, in the order of `facts`: what it says in other words, the "
            "chunk of `context` that it stands in (from 0), and where it begins and ends there, in characters. Null "
            "where nobody has looked.",
        ),
        ("answer", pa.string(), "Reference answer."),
        (
            "is_answerable_label",
            pa.bool_(),
            "Whether the documents answer the question, as who wrote the case says; null where it is to be read from "
            "the reference answer.",
        ),
        ("context", STRINGS, "Chunks that the facts were taken from."),
        (
            "context_ids",
            STRINGS,
            "Ids of these chunks, in the same order: contexts.id, else url and page as `url#page=N`; "
            "null for a chunk that has none of both.",
        ),
        (
            "tool_calls",
            pa.list_(EXPECTED_CALL),
            "Calls of tools that a right answer takes, in their order; `arguments` is JSON text. Null where nobody has "
            "looked, and in cases of earlier versions.",
        ),
        (
            "source_response_id",
            pa.string(),
            "Answer that the case was made from: its response_id; its event_id where that is missing or not unique.",
        ),
        ("source_date", pa.date32(), "Its `date` in parsed_logs."),
        ("origin", pa.string(), f"{one_of(CaseOrigin)}; null where it was made of an answer or came from a file."),
        ("confidence", pa.float64(), "From 0 to 1: how sure it is that the answer is right."),
        ("status", pa.string(), f"{one_of(CaseStatus)}."),
        ("status_by", pa.string(), "Who gave the status: a person, or evaluator."),
        ("status_at", TIMESTAMP, "When it was given."),
        (
            "doubt",
            pa.string(),
            "Why only a person may accept it: an incident of the deployment was open when its answer was given. No "
            f"answer is compared with a case of this kind while it is {CaseStatus.PROPOSED}. Null where there is none, "
            "and in cases of earlier versions.",
        ),
        ("note", pa.string(), "Why this version was made, in a person's words or the evaluator's."),
        ("extractor", pa.string(), "What made question and facts, with its version."),
        ("created_at", TIMESTAMP, "When the case was made."),
        ("updated_at", TIMESTAMP, "When this version was made."),
        ("updated_by", pa.string(), "Who made it."),
    ),
    by_date=False,
    long_text=("question", "facts", "citations", "answer", "context", "note", "tool_calls"),
)

REPLAYS = TableSpec(
    "replays",
    "One row an answer to a case that was asked again; the rows of one run are committed together.",
    described(
        ("replay_id", pa.string(), "Hash of (run_id, case_id). Unique."),
        ("run_id", pa.string(), "The run that asked it; null in rows of earlier versions."),
        ("run_started_at", TIMESTAMP, "When the run began."),
        (
            "is_baseline",
            pa.bool_(),
            "Whether later runs are compared with this one: the first, and those that a person accepted.",
        ),
        ("compared_with", pa.string(), "run_id of the baseline that it was compared with; null for the first run."),
        ("verdict", pa.string(), f"What became of the run: {one_of(ReplayVerdict)}."),
        ("case_id", pa.string(), "Case of ground_truth that was asked."),
        ("case_version", pa.int64(), "Its version at the time."),
        ("deployment", pa.string(), "Deployment that was asked."),
        ("date", pa.date32(), "UTC date of `replayed_at`. Partition."),
        ("replayed_at", TIMESTAMP, "When it was asked."),
        ("response_id", pa.string(), "Id of the answer."),
        ("trace_id", pa.string(), "Trace of the call, of its own for each, and of the calls behind it."),
        ("answer", pa.string(), "The answer."),
        ("contexts", pa.list_(CONTEXT), "Retrieved chunks in rank order; null where they are not known."),
        (
            "cited_only",
            pa.bool_(),
            "Whether `contexts` are only what the answer refers to, and not all that was retrieved; null in rows of "
            "earlier versions.",
        ),
        (
            "scores",
            pa.list_(REPLAY_SCORE),
            "Its scores by metrics, as in `scores`; `preference` says whether a judge prefers it to the answer that it "
            "was compared with.",
        ),
        ("error", pa.string(), "Why there is no answer; null where there is one."),
        ("duration_ms", pa.int64(), "Milliseconds to the whole answer."),
        ("prompt_tokens", pa.int64(), "Tokens of the prompt."),
        ("completion_tokens", pa.int64(), "Tokens of the answer."),
        ("price", pa.float64(), "Price of the call; null where the endpoint does not say it."),
    ),
    long_text=("answer", "contexts"),
)
