"""Alerts and incidents as rows of the lake, and what people do about them."""
