# SPDX-License-Identifier: Apache-2.0
"""A Spark session: its confs and jars, its errors, and the CALL statements that it runs."""
