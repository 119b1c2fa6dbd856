"""What the tables hold: their columns, the values of these, and what an answer is."""
