"""Alerts of regressions and floors; their changes are rows of the table `alerts`."""
