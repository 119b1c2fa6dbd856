"""Pages of answers: the list that is searched, and one answer with all that is known of it."""
