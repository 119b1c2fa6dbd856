"""Batches: scores grouped by stream, then into conversations and batches of event time."""
