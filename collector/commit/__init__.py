"""Commits to the lake: batches, offsets, duplicate detection, and the checkpoint that writes a batch in order."""
