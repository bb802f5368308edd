# SPDX-License-Identifier: Apache-2.0
"""Real processes that append to tables and commit them, and are killed and stopped at random while others maintain them.

Two committers (`zonemap commit-loop`), four writers without a JVM, compaction, expiry, copies by `register_table` that
must not commit, and removal of orphan files work on one table: of a JDBC catalog in folders, or of a REST catalog on S3
whose keys reach that table only and expire at random. The oracle is exact, see `oracle`.
"""
