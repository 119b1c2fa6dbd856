"""Traffic of an application with one planted change at a known time, among ordinary variation and harmless changes."""
