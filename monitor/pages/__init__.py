"""Web pages of the monitor, its `/metrics` and its `/healthz`."""
