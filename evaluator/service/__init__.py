"""Service of the evaluator: passes over new answers, backfills, the pool of judges and their retries."""
