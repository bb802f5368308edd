# SPDX-License-Identifier: Apache-2.0
"""The demo behind ``make demo-ingest``: eight writers of one table, one committer, and two of them are killed."""
