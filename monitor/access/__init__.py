"""Access to the pages: who asks, and which deployments and rights they have."""
