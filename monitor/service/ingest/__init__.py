"""Reading of new rows from the lake, and their way to the stats and detectors."""
