"""Commands of ``zonemap`` in modules of their own; ``zonemap.cli`` has the group and those that change an index."""
