# SPDX-License-Identifier: Apache-2.0
"""The guards of the product: safety checks, each with the text that switches it off and the test that must then fail.

The entries stand in entries/*.toml, one table `[[guard]]` for each guard; README.md describes the keys.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ENTRIES = Path(__file__).resolve().parent / "entries"
EXEMPTIONS = Path(__file__).resolve().parent / "exempt.toml"
#: The pages of the soundness rules, in order.
PAGES = sorted((ROOT / "docs" / "design" / "soundness").glob("[0-9]*.md"))

KEYS = {"id", "rules", "guard", "file", "find", "replace", "test", "case", "redundant"}
NEEDED = KEYS - {"case", "redundant"}


@dataclass(frozen=True)
class Guard:
    """One safety check.

    `test` is `<module>/<suite>` for a Scala suite, or the path of a Python test, with `::name` for one case. `case` is
    a part of the name of a Scala case. `redundant` is the reason why no test can fail without the guard.
    """

    id: str
    rules: tuple[str, ...]
    guard: str
    file: str
    find: str
    replace: str
    test: str
    case: str | None = None
    redundant: str | None = None

    @property
    def is_python(self) -> bool:
        """Whether the test is a Python test."""
        return ".py" in self.test

    @property
    def module(self) -> str:
        """The sbt module of a Scala suite."""
        return self.test.split("/")[0]

    @property
    def suite(self) -> str:
        """The name of a Scala suite."""
        return self.test.split("/")[1]

    @property
    def digest(self) -> str:
        """Changes when the switch or the test changes: an earlier verdict then counts no more."""
        parts = (self.file, self.find, self.replace, self.test, self.case or "")
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]

    def switched_off(self, text: str) -> str:
        """Returns the source without the guard."""
        if text.count(self.find) != 1:
            raise ValueError(
                f"Cannot switch off the guard '{self.id}': its text occurs {text.count(self.find)} times in"
                f" {self.file}. Change 'find' until it occurs once."
            )
        return text.replace(self.find, self.replace)


def load(folder: Path = ENTRIES) -> list[Guard]:
    """Returns all entries in the order of their first rule; entries of one rule keep the order of the files."""
    guards = [_guard(path, entry) for path in sorted(folder.glob("*.toml")) for entry in _tables(path)]
    return sorted(guards, key=lambda guard: number(guard.rules[0]))


def number(rule: str) -> int:
    """Returns the number of a rule such as S12."""
    return int(rule.removeprefix("S"))


def _tables(path: Path) -> list[dict[str, object]]:
    tables: list[dict[str, object]] = tomllib.loads(path.read_text(encoding="utf-8")).get("guard", [])
    return tables


def _guard(path: Path, entry: dict[str, object]) -> Guard:
    missing, unknown = NEEDED - entry.keys(), entry.keys() - KEYS
    if missing or unknown:
        raise ValueError(
            f"Cannot read the guard '{entry.get('id')}' of {path.name}: missing keys {sorted(missing)},"
            f" unknown keys {sorted(unknown)}. Use the keys of dev/guards/README.md."
        )
    rules = entry["rules"]
    if not isinstance(rules, list) or not rules:
        raise ValueError(f"Cannot read the guard '{entry['id']}': 'rules' is no list. Write rules = [\"S1\"].")
    texts = {key: str(value) for key, value in entry.items() if key != "rules"}
    return Guard(rules=tuple(rules), **texts)


def exemptions(path: Path = EXEMPTIONS) -> dict[str, str]:
    """Returns the rules that need no guard, with the reason of each."""
    return {rule: str(reason) for rule, reason in tomllib.loads(path.read_text(encoding="utf-8")).items()}


def soundness_rules() -> dict[str, str]:
    """Returns the titles of the soundness rules by their ids, such as S12."""
    rule = re.compile(r"^- \*\*(S\d+)\. (.+?)\.\*\*", re.MULTILINE)
    return dict(found for page in PAGES for found in rule.findall(page.read_text(encoding="utf-8")))


def chosen(guards: Iterable[Guard], only: str | None) -> list[Guard]:
    """Returns the guards of which an id, a rule or a file name is one of the words, or the id begins with one."""
    words = (only or "").replace(",", " ").split()
    return [
        guard
        for guard in guards
        if not words
        or any(
            guard.id.startswith(word) or word in guard.rules or word in (Path(guard.file).stem, guard.test)
            for word in words
        )
    ]
