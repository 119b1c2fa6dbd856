"""The Prometheus exporter: metric families made from a snapshot."""
