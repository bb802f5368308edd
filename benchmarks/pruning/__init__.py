# SPDX-License-Identifier: Apache-2.0
"""Counts the files that Iceberg and the index plan, for each class of queries, and compares them with the optimum."""
