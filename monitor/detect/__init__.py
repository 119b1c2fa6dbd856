"""Detection of what is wrong: regressions, exceeded limits, causes, and the figures that these read."""
