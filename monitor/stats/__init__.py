"""Running totals of requests, scores, ratings, costs and collected lines, made from rows."""
