"""Queries of cases of ground truth."""
