"""Bodies of JSON that hold what was stored by others."""

from __future__ import annotations

import json

from fastapi import Response

from lake import json_values

NOT_KEPT = {"Cache-Control": "no-store"}
"""Texts are not left in a browser's cache."""


def json_of(body: object) -> Response:
    """Give an answer with the body."""
    # Details may hold what the faster encoders refuse: large numbers, half characters.
    return Response(json.dumps(json_values(body)), media_type="application/json", headers=NOT_KEPT)
