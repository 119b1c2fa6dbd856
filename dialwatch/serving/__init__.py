"""HTTP server in a thread: slow connections, names that it is known by, addresses."""
