"""Sampling of conversations by a hash: the same ones whenever and wherever it is decided."""

from __future__ import annotations

import hashlib

_RANGE = 2**64


def is_sampled(conversation: str, probability: float, salt: str = "") -> bool:
    """Whether a conversation is in the sample; over all conversations that has the given probability, in [0, 1].

    All answers of a conversation are in the sample, or none. It is decided by the SHA-256 of salt and id
    alone, so it is the same each time, and a conversation that is in a sample is in every larger one of the same salt,
    so that a probability can be raised later and no score is lost. Samples of different salts are independent.

    Who scores a sample keeps the probability with each score: the mean of all is then estimated without bias by
    weights of 1 / probability (Horvitz and Thompson 1952). Raises ValueError for a probability outside [0, 1].
    """
    if not 0 <= probability <= 1:
        raise ValueError(f"a probability is between 0 and 1, not {probability}")
    digest = hashlib.sha256(f"{len(salt)}:{salt}{conversation}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") < probability * _RANGE
