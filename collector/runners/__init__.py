"""The loops and processes that read files into a collector."""
