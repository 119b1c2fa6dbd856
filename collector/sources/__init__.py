"""Where lines come from: each source hands over pieces with their positions."""
