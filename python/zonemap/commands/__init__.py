# SPDX-License-Identifier: Apache-2.0
"""The command line: ``cli`` has the group and the commands that change an index, the other modules the rest."""
