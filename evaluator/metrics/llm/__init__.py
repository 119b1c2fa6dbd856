"""Metrics that ask a language model as judge."""
