"""The demo behind ``make demo-ingest``: eight writers of one table, one committer, and two of them are killed."""
