"""Stores that speak S3: requests and their counts, uploads, files that are fetched whole, logs that are copied."""
