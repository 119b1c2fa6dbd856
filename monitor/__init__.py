"""The monitor: Prometheus metrics, regression detection, webhooks and pages, all made from the lake."""
