"""Page of the cases of ground truth: a queue to accept, reject and edit, with facts marked in their contexts."""

from __future__ import annotations

from monitor.pages.ground_truth.routes import add_ground_truth_page

__all__ = ["add_ground_truth_page"]
