"""Page of the cases of ground truth: a queue to accept, reject and edit, with facts marked in their contexts."""
