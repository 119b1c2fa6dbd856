"""HTTP as a source: `POST /data` for log lines, `POST /signals` for signals, `POST /scores` for scores."""
