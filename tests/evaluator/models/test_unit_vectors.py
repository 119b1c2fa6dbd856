"""Vectors of length 1."""

from __future__ import annotations

import numpy as np
import pytest

from evaluator.models import unit_vectors


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_each_row_has_length_1_and_a_row_of_zeros_stays(kind: type[np.float32] | type[np.float64]) -> None:
    vectors = np.array([[3, 4], [0, 0], [-2, 0]], dtype=kind)
    found = unit_vectors(vectors)
    assert found.dtype == kind
    assert found == pytest.approx(np.array([[0.6, 0.8], [0, 0], [-1, 0]]))
    assert vectors.tolist() == [[3, 4], [0, 0], [-2, 0]]
