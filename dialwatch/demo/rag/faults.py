"""Faults that the application can be told to have, so that its quality drops in a known part."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

RetrievalFault = Literal["fewer_passages", "shuffled_ranks", "other_index"]
GenerationFault = Literal["wrong_sentences"]


class Faults(BaseModel):
    """What is broken, by part; nothing where null.

    Of retrieval, `fewer_passages` gives the best passage alone, `shuffled_ranks` takes any of the candidates in any
    order, and `other_index` searches an older index, which lacks three of four passages. Of generation,
    `wrong_sentences` retrieves as usual and answers with the sentences that fit the question least.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    retrieval: RetrievalFault | None = None
    generation: GenerationFault | None = None
