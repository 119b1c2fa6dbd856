"""Segments of a stream's traffic, and the part that each has in a change of the mean."""
