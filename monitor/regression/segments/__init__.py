"""The segments of a stream's traffic: which there are, and what each has in a change of the mean."""
