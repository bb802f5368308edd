# SPDX-License-Identifier: Apache-2.0
"""The results of guards as JSON, and the table that `run.py --table` prints."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypedDict

from catalogue import Guard, exemptions, soundness_rules
from scratch import KILLED, SURVIVED, Verdict

RESULTS = Path(__file__).resolve().parent / "results.json"
NOT_RUN = "not run"


class Result(TypedDict):
    """One entry of results.json."""

    verdict: str
    by: str
    seconds: int
    digest: str


def read(path: Path = RESULTS) -> dict[str, Result]:
    """Returns the stored results by the ids of the guards."""
    if not path.exists():
        return {}
    results: dict[str, Result] = json.loads(path.read_text(encoding="utf-8"))
    return results


def keep(guard: Guard, verdict: Verdict, guards: Sequence[Guard], path: Path = RESULTS) -> None:
    """Stores a result and removes the results of guards that no longer exist."""
    results = read(path)
    results[guard.id] = {
        "verdict": verdict.verdict,
        "by": verdict.by,
        "seconds": verdict.seconds,
        "digest": guard.digest,
    }
    kept = {g.id: results[g.id] for g in guards if g.id in results}
    path.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def current(guard: Guard, results: Mapping[str, Result]) -> Result | None:
    """Returns the result of a guard unless its entry has changed since."""
    found = results.get(guard.id)
    return found if found is not None and found["digest"] == guard.digest else None


def is_settled(guard: Guard, results: Mapping[str, Result]) -> bool:
    """Whether the present entry of a guard has the expected verdict."""
    found = current(guard, results)
    return found is not None and not unexpected(guard, found["verdict"])


def table(guards: Sequence[Guard], results: Mapping[str, Result]) -> str:
    """Returns the guards, their tests and verdicts as Markdown."""
    verdicts = [found["verdict"] if (found := current(g, results)) else NOT_RUN for g in guards]
    counts = {name: verdicts.count(name) for name in sorted(set(verdicts))}
    lines = [
        "# The tests that fail without each safety check",
        "",
        "Each row is one safety check of the product, a *guard*.",
        "The guard was switched off in a copy of the sources, and the named test was run. *killed* means that the test",
        "failed. *survived* is allowed only for a guard that is redundant; a section below the table gives the reason.",
        "",
        f"{len(guards)} guards: " + ", ".join(f"{count} {name}" for name, count in counts.items()) + ".",
        "",
        "| Rule | Guard | The check | Test that fails without it | Verdict | Seconds |",
        "|---|---|---|---|---|---|",
    ]
    for guard, verdict in zip(guards, verdicts, strict=True):
        found = current(guard, results)
        seconds = str(found["seconds"]) if found else ""
        test = guard.test if guard.is_python else guard.suite
        by = found["by"] if found and found["verdict"] == KILLED else (guard.case or "")
        named = test if guard.is_python else f"{test}: {by}" if by else test
        cells = (", ".join(guard.rules), f"`{guard.id}`", guard.guard, named, verdict, seconds)
        lines.append("| " + " | ".join(_cell(cell) for cell in cells) + " |")
    lines += ["", "## Redundant guards", ""]
    lines += [f"- `{guard.id}`: {guard.redundant}" for guard in guards if guard.redundant] or ["None."]
    lines += ["", "## Rules without a guard", ""]
    titles = soundness_rules()
    lines += [f"- {rule} ({titles[rule]}): {reason}" for rule, reason in exemptions().items()]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def unexpected(guard: Guard, verdict: str) -> bool:
    """Whether the verdict shows a hole: the test passed, did not run, or the entry is wrong."""
    return verdict != (SURVIVED if guard.redundant else KILLED)
