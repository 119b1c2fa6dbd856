"""The page of a deployment over a period: its metrics, failures, judges, limits and alerts; also as JSON."""
