"""Code that every service shares beside the tables: heartbeats, clocks, values of settings, the header of a scrape."""
