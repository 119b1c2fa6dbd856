"""Scores of a stream, grouped into conversations and batches of event time."""
