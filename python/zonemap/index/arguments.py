# SPDX-License-Identifier: Apache-2.0
"""The arguments of the procedures of an index as SQL; each text begins with a comma, or is empty."""

from __future__ import annotations

from collections.abc import Sequence

from zonemap.common import argument_checks as checked
from zonemap.common import identifiers
from zonemap.common.errors import InvalidArgumentError


def of_build(
    facts: Sequence[str],
    columns: Sequence[str] | None,
    estimate: bool,
    max_fact_share: float | None,
    footers: int | None,
    footer_seconds: int | None,
) -> str:
    """Returns the arguments of ``build_index``, see ``Index.build``."""
    arguments = of_facts(facts)
    if columns is not None:
        arguments += of_columns(columns)
    if checked.flag("estimate", estimate):
        arguments += ", estimate => true"
    if max_fact_share is not None:
        share = checked.positive("max_fact_share", max_fact_share, None, ", such as 0.2 for a fifth")
        arguments += f", max_fact_share => {share!r}D"
    return arguments + of_footers(footers, footer_seconds)


def of_footers(footers: int | None, seconds: int | None) -> str:
    """Returns the arguments that limit how many footers are read."""
    arguments = "" if footers is None else f", footers => {checked.count('footers', footers, 'footers')}"
    if seconds is not None:
        arguments += f", footer_seconds => {checked.count('footer_seconds', seconds, 'seconds')}"
    return arguments


def of_facts(facts: Sequence[str]) -> str:
    """Returns the argument ``facts``."""
    named = checked.texts("facts", facts, "facts")
    return f", facts => {identifiers.text_literal(', '.join(named))}" if named else ""


def of_columns(columns: Sequence[str]) -> str:
    """Returns the argument ``columns``."""
    names = checked.texts("columns", columns, "column names")
    if not names:
        raise InvalidArgumentError(
            f"Cannot use columns={checked.shown(columns)}: give a list of column names, at least one."
        )
    return f", columns => array({', '.join(identifiers.text_literal(name) for name in names)})"


def of_dry_run(dry_run: bool) -> str:
    """Returns the argument ``dry_run``."""
    return f", dry_run => {str(checked.flag('dry_run', dry_run)).lower()}"
