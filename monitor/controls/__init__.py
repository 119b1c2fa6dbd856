"""What people set while the monitor runs: silences and marked releases."""
