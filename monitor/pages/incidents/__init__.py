"""Pages of incidents: their list, and one with all that is known of it and the forms that answer it."""
