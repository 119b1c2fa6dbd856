"""Delta Lake tables: their folders, files, commits and errors, and a reader in processes of its own."""
