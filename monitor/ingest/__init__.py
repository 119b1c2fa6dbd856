"""The reading of new rows from the lake, and their delivery to totals and detectors."""
