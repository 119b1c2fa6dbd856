"""Matchers of facts: rules by which a retrieved context holds a fact of the ground truth."""
