"""The demo: real questions as DIAL traffic, a planted drop in quality, and the webhook that reports it."""
