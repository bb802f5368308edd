# SPDX-License-Identifier: Apache-2.0
"""Replaces this process by a small JVM of zonemap, without a Spark session."""

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


class Program(NamedTuple):
    """A program of zonemap's jars.

    Attributes:
        main_class: Its class.
        name: What messages call it, as "the committer".
        memory: Its heap, which the confs of the user replace.
        ingest: Whether it is in the jar of append ingestion.
    """

    main_class: str
    name: str
    memory: str
    ingest: bool


def command(
    program: Program,
    arguments: Iterable[str],
    *,
    settings: tuple[str, ...],
    iceberg: str | None,
    environment: Mapping[str, str] = os.environ,
) -> Command:
    """Returns the command of spark-submit that starts a program.

    spark-submit finds Java, resolves jars and packages, and logs in as the confs say. It starts no Spark application.

    Raises:
        InvalidArgumentError: a conf or ``iceberg`` is malformed.
        ZonemapError: PySpark is not installed, or the confs name a Spark Connect server.
    """
    options = sessions.confs(settings, None)
    if remote.server_of(options) is not None:
        raise ZonemapError(
            f"Cannot run {program.name} on a Spark Connect server: it runs on this machine, without Spark. Leave out "
            f"{remote.REMOTE} and SPARK_REMOTE, and give the properties of the catalog."
        )
    home = spark_installation.home()
    if home is None:
        install = optional_packages.command("spark")
        raise ZonemapError(f"Cannot start {program.name}: PySpark is not installed. Install it: {install}.")
    confs = options_of(sessions.builder(options, iceberg, ingest=program.ingest))
    submitted = [word for word in shlex.split(environment.get("PYSPARK_SUBMIT_ARGS", "")) if word != _SHELL]
    defaults = {"spark.driver.memory": program.memory, "spark.driver.extraJavaOptions": "-XX:+UseSerialGC"}
    # Where an option is given twice, the later one counts.
    words = [
        *(str(home / "bin" / "spark-submit"), *_confs(defaults), *submitted, *_confs(confs)),
        *("--master", "local", "--deploy-mode", "client", "--class", program.main_class, _NO_JAR),
        *arguments,
    ]
    kept = {key: value for key, value in environment.items() if key != "SPARK_REMOTE"}
    return Command(words, kept | {"SPARK_HOME": str(home)})


def _confs(confs: Mapping[str, object]) -> list[str]:
    given = {key: value for key, value in confs.items() if key != remote.REMOTE}
    return [part for key, value in given.items() for part in ("--conf", f"{key}={value}")]
