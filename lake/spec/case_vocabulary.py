"""Enumerations of the values that columns about ground truth may hold; see `lake.spec.vocabulary`."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

CASE_PASSED = "case_passed"
"""The metric whose scores say whether an answer agrees with its case, and `failed_part` which part failed if not."""

PREFERENCE = "preference"
"""The metric of a replayed answer that says whether a judge prefers it to the answer that it is compared with."""


class CaseStatus(StrEnum):
    """`ground_truth.status`: what people, or the evaluator, decided about a case."""

    PROPOSED = "proposed"
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    STALE = "stale"


class CaseOrigin(StrEnum):
    """`ground_truth.origin`: what a case was made of, where that is no answer of the application and no file.

    `synthetic`: a judge made question and answer from a document.
    """

    SYNTHETIC = "synthetic"


USABLE_STATUS = (CaseStatus.PROPOSED, CaseStatus.ACCEPTED)
"""Statuses of the cases that answers are compared with."""


class ReferenceMatch(StrEnum):
    """`scores.reference_match`: how the case that an answer is compared with was found, the surest way first.

    `exact`: its question is the same, character by character. `normalised`: it is so but for case, white space,
    punctuation and forms of Unicode. `embedding`: a sentence encoder finds the questions alike.
    """

    EXACT = "exact"
    NORMALISED = "normalised"
    EMBEDDING = "embedding"


class FailedPart(StrEnum):
    """`scores.failed_part`: which part of an application failed, where an answer does not agree with its case.

    `retrieval`: a fact that the answer needs was not retrieved. `ranking`: it was, but not among the first chunks.
    `generation`: it was among the first, and the answer is still wrong. `refusal`: it was, and the application says
    that it does not know. `unanswerable`: the reference says that there is no answer, and the application gives one.
    `reference`: a chunk of the case was retrieved, and no longer holds the fact: the case is out of date. `tool`: a
    tool that the case calls was called, and failed. `wrong_tool`: a tool that the case calls was not called.
    """

    RETRIEVAL = "retrieval"
    RANKING = "ranking"
    TOOL = "tool"
    WRONG_TOOL = "wrong_tool"
    GENERATION = "generation"
    REFUSAL = "refusal"
    UNANSWERABLE = "unanswerable"
    REFERENCE = "reference"


class ReplayVerdict(StrEnum):
    """`replays.verdict`: what became of a run that asked the accepted cases again.

    `baseline`: there was no run to compare with. `regression`: the answers are worse than those of the baseline, or
    were in an earlier run and are not shown to be as good again. `suspected`: they are worse than single answers vary,
    and not worse than whole runs may differ: later runs tell. `too_few`: so few cases could be compared that not
    even all of them answered worse would have been a regression. `incomplete`: more than a tenth of the cases were not
    answered.
    """

    BASELINE = "baseline"
    REGRESSION = "regression"
    SUSPECTED = "suspected"
    NO_REGRESSION = "no_regression"
    TOO_FEW = "too_few"
    INCOMPLETE = "incomplete"


FAILED_PART_MEANING: Mapping[FailedPart, str] = {
    FailedPart.RETRIEVAL: "retrieval did not find the fact",
    FailedPart.RANKING: "the fact was retrieved, but not among the first chunks",
    FailedPart.TOOL: "a tool that the answer needs failed",
    FailedPart.WRONG_TOOL: "a tool that the answer needs was not called",
    FailedPart.GENERATION: "the fact was retrieved, and the answer is wrong",
    FailedPart.REFUSAL: "the fact was retrieved, and the application says that it does not know",
    FailedPart.UNANSWERABLE: "the reference says that there is no answer, and the application gives one",
    FailedPart.REFERENCE: "a chunk of the case was retrieved and no longer holds the fact, so look at the case",
}
"""What people are told of each part."""

FAILED_PART_LOOK: Mapping[FailedPart, str] = {
    FailedPart.RETRIEVAL: "The index and its last update; the search of the application.",
    FailedPart.RANKING: "The ranking or reranker of the application.",
    FailedPart.TOOL: "The tools of the worst answers, and their errors.",
    FailedPart.WRONG_TOOL: "The calls of the worst answers beside those of their cases.",
    FailedPart.GENERATION: "The prompt and the model.",
    FailedPart.REFUSAL: "The prompt, and filters of content.",
    FailedPart.UNANSWERABLE: "The prompt: whether it says when to give no answer.",
    FailedPart.REFERENCE: "The cases of the worst answers: whether their documents have changed.",
}
"""What to look at first where a part failed."""
