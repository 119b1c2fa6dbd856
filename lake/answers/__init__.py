"""Answers joined from rows: their text and contexts, cases of ground truth, what people signalled, frames."""
