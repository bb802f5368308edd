"""The index of a table: build, refresh, status, merge, prewarm, collect garbage, drop, follow."""
