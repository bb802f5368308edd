# SPDX-License-Identifier: Apache-2.0
"""``python -m zonemap``, the same as the ``zonemap`` command."""

from zonemap.commands.cli import main

main()
