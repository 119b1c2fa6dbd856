"""The e-detector: sequential tests of a mean by betting, with change points and power."""
