"""Page that compares answers to the same questions: of two periods, of two versions of a metric, or of two replays."""

from __future__ import annotations

from monitor.pages.compare.routes import add_compare_page

__all__ = ["add_compare_page"]
