# SPDX-License-Identifier: Apache-2.0
"""The text of a query that a caller gives as a DataFrame or as text.

A DataFrame becomes a temporary view for the time of the call, so both forms work through Spark Connect too.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from zonemap.common import argument_checks as checked
from zonemap.common.errors import InvalidArgumentError
from zonemap.session import spark_errors
from zonemap.session.calls import without_trace

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@contextmanager
def as_text(spark: SparkSession, query: DataFrame | str) -> Iterator[tuple[SparkSession, str]]:
    """Yields a session and the text of the query; a DataFrame is a temporary view meanwhile."""
    if isinstance(query, str):
        yield spark, query
    elif callable(getattr(query, "createTempView", None)):
        name = f"zonemap_query_{uuid.uuid4().hex}"
        _make_view(query, name)
        try:
            yield query.sparkSession, f"SELECT * FROM {name}"
        finally:
            _drop_view(query.sparkSession, name)
    else:
        raise InvalidArgumentError(
            f"Cannot use query={checked.shown(query)}: it is neither a DataFrame nor text. Give one of them."
        )


def _make_view(query: DataFrame, name: str) -> None:
    """Makes a DataFrame a temporary view. Through Spark Connect, Spark analyses the DataFrame only here."""
    try:
        with spark_errors.unlogged():
            query.createTempView(name)
    except Exception as error:
        if not spark_errors.is_of_spark(error):
            raise
        failed = without_trace(error)
    else:
        return
    # Outside of the handler, so that Python prints no Java trace of the context.
    raise failed


def _drop_view(spark: SparkSession, name: str) -> None:
    """Drops a temporary view. The error of a session that has ended would hide the error of the query."""
    try:
        with spark_errors.unlogged():
            spark.catalog.dropTempView(name)
    except Exception as error:
        if not spark_errors.is_of_spark(error):
            raise
