"""Notifications of alerts: signed webhooks and mail that are tried until they arrive, and Alertmanager."""
