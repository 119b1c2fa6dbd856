"""Names of tools as they are counted and shown: a model may make up long ones, and a call may have none."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

UNNAMED, LONGEST_NAME = "unnamed", 100


def shown_name(name: str | None) -> str:
    """Return the name of a call's tool as it is shown."""
    return UNNAMED if name is None else name[:LONGEST_NAME]


def shown_names(names: pa.Array) -> pa.Array:
    """Return the names of many calls' tools as they are shown, as `shown_name`; shape (calls,)."""
    return pc.utf8_slice_codeunits(pc.fill_null(names, UNNAMED), 0, LONGEST_NAME)
