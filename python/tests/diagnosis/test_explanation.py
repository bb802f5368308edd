# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest

import zonemap
from zonemap import InvalidArgumentError, ProcedureError, ZonemapError
from zonemap.results import Explanation

PLAN = """== Physical Plan ==
* Project (2)

== Extended Information (Zonemap) ==
table lake.db.t snapshot 7 mode EXACT tier hot
  files considered: <5>

"""


class _Session:
    """A session that answers EXPLAIN with a text."""

    def __init__(self, answer: str | Exception) -> None:
        self.statements: list[str] = []
        self._answer = answer

    def sql(self, statement: str) -> _Session:
        self.statements.append(statement)
        if isinstance(self._answer, Exception):
            raise self._answer
        return self

    def collect(self) -> list[list[Any]]:
        return [[line] for line in str(self._answer).split("\n")] if "Error" in str(self._answer) else [[self._answer]]


class _SparkError(Exception):
    def getCondition(self) -> str:  # noqa: N802 - PySpark's name
        return "TABLE_OR_VIEW_NOT_FOUND"


def explained(answer: str | Exception, query: Any = "SELECT 1") -> Explanation:
    return zonemap.explain(_Session(answer), query)  # type: ignore[arg-type]


def test_an_explanation_is_the_section_of_zonemap() -> None:
    session: Any = _Session(PLAN)
    found = zonemap.explain(session, "SELECT 1")
    assert session.statements == ["EXPLAIN FORMATTED SELECT 1"]
    assert str(found) == "table lake.db.t snapshot 7 mode EXACT tier hot\n  files considered: <5>"
    assert found.plan == PLAN


def test_a_section_ends_with_the_next_one() -> None:
    assert explained(PLAN + "== Another ==\nmore\n").text.endswith("<5>")


def test_a_notebook_shows_the_section_and_hides_the_plan() -> None:
    page = explained(PLAN)._repr_html_()
    assert "files considered: &lt;5&gt;" in page and page.index("files considered") < page.index("<details>")
    assert "* Project (2)" in page


@pytest.mark.parametrize(
    "text",
    [
        "EXECUTE IMMEDIATE 'DELETE FROM lake.db.t'",
        "  -- it's a comment\n execute /* of two words */ immediate 'SELECT 1'",
        "EXPLAIN EXECUTE\nIMMEDIATE q USING 1",
        # comments of Spark nest, end at a carriage return, and go on after a backslash at the end of a line
        "EXECUTE /* /* n */ */ IMMEDIATE 'SELECT 1'",
        "/* /* */ ' */ EXECUTE IMMEDIATE 'SELECT 1' /* ' */",
        "-- x\rEXECUTE IMMEDIATE 'SELECT 1'",
        "-- a \\\n'\nEXECUTE IMMEDIATE 'SELECT 1' -- '",
        "EXECUTE --x\r IMMEDIATE 'SELECT 1'",
        "EXECUTE -- a \\\n b\n IMMEDIATE 'SELECT 1'",
        "formatted EXECUTE IMMEDIATE 'SELECT 1'",
        # the values of variables, nothing for one that is not defined
        "${a.whole}",
        "EXECUTE ${a.word} 'SELECT 1'",
        "EXECUTE IMMED${a.none}IATE 'SELECT 1'",
        "E${a.none}XECUTE IMMEDIATE 'SELECT 1'",
        "EXPLAIN ${a.first} IMMEDIATE 'SELECT 1'",
        "/* ${a.end} */ SELECT 1",
    ],
)
def test_a_statement_that_spark_executes_to_explain_it_is_refused(text: str) -> None:
    session: Any = _Session(PLAN)
    with pytest.raises(InvalidArgumentError, match="Explain the text of the statement"):
        zonemap.explain(session, text)
    assert session.statements == []


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 'execute immediate'",
        'SELECT 1 AS `execute immediate`, "EXECUTE IMMEDIATE"',
        "-- how to execute it\nSELECT 'immediate'",
        "/* EXECUTE IMMEDIATE */ SELECT ${a.column} FROM t",
        "EXPLAIN EXTENDED (SELECT 'execute immediate')",
    ],
)
def test_statements_that_only_hold_the_words_are_explained(text: str) -> None:
    assert explained(PLAN, query=text).plan == PLAN


def test_mistakes_are_one_sentence() -> None:
    with pytest.raises(ZonemapError, match=r"no section of zonemap\. Start the session with zonemap\.configure"):
        explained("== Physical Plan ==\n")
    with pytest.raises(ProcedureError, match=r"^Cannot find 't'\.$") as refused:
        explained(_SparkError("Cannot find 't'.\n\nJVM stacktrace:\nx"))
    assert refused.value.condition == "TABLE_OR_VIEW_NOT_FOUND" and refused.value.java_trace
    with pytest.raises(ProcedureError, match=r"Cannot explain the query: .*no such table"):
        explained("Error occurred during query planning: \nno such table")
    with pytest.raises(InvalidArgumentError, match="neither a DataFrame nor text"):
        explained(PLAN, query=7)
