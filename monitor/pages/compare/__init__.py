"""Page that compares answers to the same questions: of two periods, of two versions of a metric, or of two replays."""
