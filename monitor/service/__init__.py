"""The running monitor: it reads new rows, keeps its state, records what is found and publishes a snapshot."""
