# SPDX-License-Identifier: Apache-2.0
"""Plans and runs the query of the Atlas table, from the talk that introduced Iceberg, with the index off and on."""
