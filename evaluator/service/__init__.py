"""The evaluator's service: passes over what is new, backfills, the judges that they ask and what these still owe."""
