"""The services of a process: collector, evaluator, monitor and upkeep, their schedules and their health."""
