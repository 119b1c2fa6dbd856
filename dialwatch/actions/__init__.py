"""The work of each command, which is loaded once the options are in order."""
