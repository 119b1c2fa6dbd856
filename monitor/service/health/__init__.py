"""Health of the monitor itself and of all parts of dialwatch."""
