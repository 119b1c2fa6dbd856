"""Reports for people and programs: of a calibration, and of the scores of a table."""
