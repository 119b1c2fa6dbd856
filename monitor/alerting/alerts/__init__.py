"""Alerts of regressions and limits; their changes are rows of the table `alerts`."""
