"""One line of DIAL Core: its outer JSON and the members that describe the call."""
