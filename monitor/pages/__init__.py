"""The pages over HTTP: overview, deployment, `/metrics` and `/healthz`."""
