"""The e-detector: sequential tests of a mean by betting, and what they need."""
