"""Log files as a source: local or on an S3-like store, plain or gzip."""
