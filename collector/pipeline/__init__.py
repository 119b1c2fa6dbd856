"""The pipeline from delivered lines to committed batches."""
