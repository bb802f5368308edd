"""``python -m zonemap``, the same as the ``zonemap`` command."""

from zonemap.cli import main

main()
