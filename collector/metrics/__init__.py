"""The counts of one collector process, and how Prometheus reads them."""
