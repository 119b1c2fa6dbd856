"""The digest: what happened in a day or a week, as a table of a receiver's deployments, sent once."""
