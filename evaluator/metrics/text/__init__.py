"""Metrics of the answer's text, against the contexts, reference answers, and the question."""
