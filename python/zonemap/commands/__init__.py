"""Commands of ``zonemap`` in modules of their own; ``zonemap.cli`` has all others and the group."""
