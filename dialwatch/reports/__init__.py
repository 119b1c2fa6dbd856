"""Reports for people and programs: a calibration, the scores of a table."""
