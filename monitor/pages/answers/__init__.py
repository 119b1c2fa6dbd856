"""Pages of answers: the list that is searched, and one answer with all that is known of it."""

from __future__ import annotations

from monitor.pages.answers.routes import add_answer_pages

__all__ = ["add_answer_pages"]
