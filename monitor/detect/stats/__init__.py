"""Stats of requests, scores, ratings, costs and collected lines: immutable sums, to which new rows are added."""
