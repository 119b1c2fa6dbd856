"""Cases of ground truth in the lake: listed, shown, decided on, edited, exported and imported."""
