"""The log of a Delta table: its commits, snapshots and files, read and written."""
