"""Delta Lake tables: their folders, files, commits and errors, and a reader that is ahead of its taker."""
