"""What a commit is made of: batches, positions, duplicates and the checkpoint that writes them in order."""
