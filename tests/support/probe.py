# SPDX-License-Identifier: Apache-2.0
"""Plans many queries and evaluates many conditions with a few calls into the JVM, see Probe.java."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import SparkSession

from support.session import SPARK

_SOURCE = Path(__file__).with_name("Probe.java")
_SEPARATOR = "\x01"
_LINE = "\x02"
#: Stands for the condition of a query; the JVM parses a condition once for its plan and its evaluation.
STANDS_FOR = "condition_number_N"


_probes: dict[object, Probe] = {}


def probe_of(spark: SparkSession) -> Probe:
    """Returns the probe of the session's JVM."""
    if spark._jvm not in _probes:
        _probes.clear()
        _probes[spark._jvm] = Probe(spark)
    return _probes[spark._jvm]


class Probe:
    """One probe for each session. A line of a result begins with "!" if the statement or condition failed."""

    def __init__(self, spark: SparkSession) -> None:
        jvm = spark._jvm
        compiler = jvm.org.codehaus.janino.SimpleCompiler()
        compiler.setParentClassLoader(jvm.java.lang.Thread.currentThread().getContextClassLoader())
        source = _SOURCE.read_text(encoding="utf-8")
        if SPARK < (4, 0):  # each session of Spark 3.5 is what Spark 4 calls classic
            source = source.replace("sql.classic.SparkSession", "sql.SparkSession")
        compiler.cook(source)
        arguments = spark.sparkContext._gateway.new_array(jvm.java.lang.Object, 1)
        arguments[0] = spark._jsparkSession
        self._java = compiler.getClassLoader().loadClass("Probe").getConstructors()[0].newInstance(arguments)

    def set_files(self, paths: Sequence[str]) -> None:
        """Numbers the data files of a table; all results name files by these numbers. Forgets evaluated rows."""
        self._java.setFiles(_SEPARATOR.join(paths))
        self.forget()

    def forget(self) -> None:
        """Forgets the rows of an evaluated view, which must be called after the view has changed."""
        self._java.forget()

    def evaluate(self, held: str, conditions: Sequence[str]) -> list[str]:
        """Returns, for each condition, a character for each row of the view: '1', '0', 'n' for NULL, '!' for an error."""
        return self._java.evaluate(held, _SEPARATOR.join(conditions)).splitlines() if conditions else []

    def rank(self, held: str, columns: Sequence[str]) -> list[list[int | None]]:
        """Returns, for each column, the place of each row's value among the column's values; None for NULL."""
        lines = self._java.rank(held, _SEPARATOR.join(columns)).split(_LINE)[:-1]
        return [[int(place) if place else None for place in line.split(_SEPARATOR)] for line in lines]

    def texts(self, held: str, expressions: Sequence[str]) -> list[list[str | None]]:
        """Returns, for each expression, which must be a text, its value in each row of the view."""
        lines = self._java.texts(held, _SEPARATOR.join(expressions)).split(_LINE)[:-1]
        return [[_decoded(text) for text in line.split(_SEPARATOR)] for line in lines]

    def plan(self, statements: Sequence[str], reads_values: bool = False) -> list[str]:
        """Plans each statement without running it; returns the planned files as text of '0' and '1'.

        With `reads_values`, the line of a plan without a scan is "=" and the values of its only row.
        """
        return self._java.plan(_SEPARATOR.join(statements), reads_values).splitlines() if statements else []

    def plan_together(self, queries: Sequence[str], conditions: Sequence[str] | None = None) -> list[str]:
        """Like `plan`, but plans the queries as the branches of one UNION ALL, and halves of them if that fails.

        A condition is inserted into its query at STANDS_FOR.
        """
        given = conditions if conditions is not None else [""] * len(queries)
        if len(queries) < 2:
            return self.plan([q.replace(STANDS_FOR, c) for q, c in zip(queries, given, strict=True)])
        branches = [f"SELECT 1 AS one, {n} AS branch FROM ({query})" for n, query in enumerate(_numbered(queries))]
        lines = self._java.planTogether(_union(branches), _SEPARATOR.join(given), len(queries), False).splitlines()
        if len(lines) == len(queries):
            return lines
        middle = len(queries) // 2
        return self.plan_together(queries[:middle], given[:middle]) + self.plan_together(
            queries[middle:], given[middle:]
        )

    def files_of(self, queries: Sequence[str]) -> list[set[str]]:
        """Like plan_together, but returns the paths of the planned files of each query.

        Raises Py4JJavaError with the planner's error if any of the queries cannot be planned.
        """
        lines = self._java.planTogether(_union(queries), "", len(queries), True).split("\n")[:-1]
        return [set(filter(None, line.split(_SEPARATOR))) for line in lines]

    def rows_together(self, queries: Sequence[str], conditions: Sequence[str]) -> list[list[list[str]]] | None:
        """Runs queries with the same columns, all texts, as one query; returns the rows of each query, None if it fails.

        A condition is inserted into its query at STANDS_FOR.
        """
        union = _union([f"SELECT {n} AS branch, * FROM ({query})" for n, query in enumerate(_numbered(queries))])
        together = f"SELECT /*+ COALESCE(1) */ * FROM ({union})"  # one task runs all queries that need no exchange
        lines = self._java.rows(together, _SEPARATOR.join(conditions)).split(_LINE)[:-1]
        if lines and lines[0].startswith("!"):
            return None
        found: list[list[list[str]]] = [[] for _ in queries]
        for line in lines:
            branch, *values = map(_decoded, line.split(_SEPARATOR))
            found[int(branch or 0)].append(["null" if value is None else value for value in values])
        return found

    @staticmethod
    def values(line: str) -> list[str] | None:
        """Returns the values of a line of `plan`; None if the plan reads files."""
        return line[1:].split(_SEPARATOR) if line.startswith("=") else None


def _numbered(queries: Sequence[str]) -> list[str]:
    return [query.replace(STANDS_FOR, f"{STANDS_FOR[:-1]}{n}") for n, query in enumerate(queries)]


def _union(queries: Sequence[str]) -> str:
    return " UNION ALL ".join(f"({query})" for query in queries)


def _decoded(value: str) -> str | None:
    return None if value == "n" else bytes.fromhex(value).decode("utf-8", "replace")
