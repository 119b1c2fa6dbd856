"""Ids of rows: hashes that are the same whenever the same row is made again."""

from __future__ import annotations

import hashlib


def identity(*parts: str) -> str:
    """Hash of texts, 32 hex digits; where one text ends and the next begins matters."""
    digest = hashlib.sha256()
    for part in parts:
        raw = part.encode("utf-8", "surrogatepass")
        digest.update(len(raw).to_bytes(8, "big") + raw)
    return digest.hexdigest()[:32]
