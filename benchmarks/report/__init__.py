"""Builds a page of tables and plots from the committed results of the benchmark suites."""
