"""Incidents: the alerts of a deployment that overlap in time; their changes are rows of the table `incidents`."""
