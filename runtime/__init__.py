"""What every service needs and what knows nothing of DIAL or of tables: clocks, logs, waits, worker processes, text."""
