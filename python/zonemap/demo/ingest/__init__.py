"""The demo behind ``zonemap demo-ingest``: eight writers of one table, one committer, and two of them are killed."""
