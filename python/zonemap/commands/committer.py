# SPDX-License-Identifier: Apache-2.0
"""The committer as a process of its own, beside its catalog."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from zonemap.commands import small_jvm

PROGRAM = small_jvm.Program("zonemap.ingest.spark.commit.CommitProcess", "the committer", "400m", ingest=True)


def command(
    tables: Iterable[str],
    *,
    every_seconds: float,
    settings: tuple[str, ...],
    iceberg: str | None,
    output: str,
    environment: Mapping[str, str] = os.environ,
) -> small_jvm.Command:
    """Returns the command that starts the committer; it raises the errors of :func:`small_jvm.command`."""
    return small_jvm.command(
        PROGRAM, (str(every_seconds), output, *tables), settings=settings, iceberg=iceberg, environment=environment
    )
