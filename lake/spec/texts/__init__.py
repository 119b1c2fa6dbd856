"""What texts say, whatever their form: one form of Unicode, and refusals."""
