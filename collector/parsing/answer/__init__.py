"""The body of an answer, assembled by Core or merged from its stream."""
