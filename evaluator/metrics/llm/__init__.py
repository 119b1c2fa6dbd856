"""Metrics whose verdicts are a language model's."""
