"""Sources of lines: each delivers pieces with their offsets."""
