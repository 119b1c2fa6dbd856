"""Metrics of what was retrieved: against facts, ids, reference contexts, and the question."""
