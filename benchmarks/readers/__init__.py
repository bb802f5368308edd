# SPDX-License-Identifier: Apache-2.0
"""Plans of readers without Spark: zonemap.pyiceberg, PyIceberg, and Polars with its own reader of manifests."""
