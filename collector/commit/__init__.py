"""Commits to the lake: batches, offsets, duplicate detection, and the committer that writes a batch in order."""
