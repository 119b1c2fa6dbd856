"""HTTP server in a thread: addresses, limits for connections, check of host names."""
