# SPDX-License-Identifier: Apache-2.0
"""The index of a table: build, refresh, status, merge, prewarm, collect garbage, drop, follow."""
