"""The alerts of regressions and floors, and their changes as rows of the table `alerts`."""
