# SPDX-License-Identifier: Apache-2.0
"""Replaces this process by the committer: a small JVM that runs beside its catalog, without a Spark session."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from zonemap.commands import sessions
from zonemap.common import optional_packages
from zonemap.common.errors import ZonemapError
from zonemap.session import remote, spark_installation
from zonemap.session.configuration import options_of

MAIN_CLASS = "zonemap.ingest.spark.commit.CommitProcess"

#: Confs of the JVM that the confs of the user replace.
DEFAULTS = {"spark.driver.memory": "400m", "spark.driver.extraJavaOptions": "-XX:+UseSerialGC"}

#: What spark-submit takes for a program of which each jar is listed.
_NO_JAR = "spark-internal"
#: The last word of PYSPARK_SUBMIT_ARGS, the program of a session.
_SHELL = "pyspark-shell"


class Command(NamedTuple):
    """A program to run.

    Attributes:
        words: The program and its arguments.
        environment: Its variables.
    """

    words: list[str]
    environment: dict[str, str]

    def replace_process(self) -> None:
        """Runs the program in place of this process, under the same id; does not return."""
        os.execve(self.words[0], self.words, self.environment)


def command(
    tables: Iterable[str],
    *,
    every_seconds: float,
    settings: tuple[str, ...],
    iceberg: str | None,
    output: str,
    environment: Mapping[str, str] = os.environ,
) -> Command:
    """Returns the command of spark-submit that starts the committer.

    spark-submit finds Java, resolves jars and packages, and logs in as the confs say. It starts no Spark application.

    Raises:
        InvalidArgumentError: a conf or ``iceberg`` is malformed.
        ZonemapError: PySpark is not installed, or the confs name a Spark Connect server.
    """
    options = sessions.confs(settings, None)
    if remote.server_of(options) is not None:
        raise ZonemapError(
            "Cannot run the committer on a Spark Connect server: it runs on this machine, without Spark. Leave out "
            f"{remote.REMOTE} and SPARK_REMOTE, and give the confs spark.sql.catalog.* of the catalog."
        )
    home = spark_installation.home()
    if home is None:
        install = optional_packages.command("spark")
        raise ZonemapError(f"Cannot start the committer: PySpark is not installed. Install it: {install}.")
    confs = options_of(sessions.builder(options, iceberg, ingest=True))
    submitted = [word for word in shlex.split(environment.get("PYSPARK_SUBMIT_ARGS", "")) if word != _SHELL]
    # Where an option is given twice, the later one counts.
    words = [
        *(str(home / "bin" / "spark-submit"), *_confs(DEFAULTS), *submitted, *_confs(confs)),
        *("--master", "local", "--deploy-mode", "client", "--class", MAIN_CLASS, _NO_JAR),
        *(str(every_seconds), output, *tables),
    ]
    kept = {key: value for key, value in environment.items() if key != "SPARK_REMOTE"}
    return Command(words, kept | {"SPARK_HOME": str(home)})


def _confs(confs: Mapping[str, object]) -> list[str]:
    given = {key: value for key, value in confs.items() if key != remote.REMOTE}
    return [part for key, value in given.items() for part in ("--conf", f"{key}={value}")]
