"""The overview: a table of all deployments over a period, and how dialwatch itself is; as a page and as JSON."""
