"""Tolerant reading of JSON texts, within bounds."""
