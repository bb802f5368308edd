# SPDX-License-Identifier: Apache-2.0
"""Removes steps of a finding that its wrong result does not need."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from campaign.steps import Step

#: Steps with a list of slices that may be shortened, and the position of this argument.
_SLICED = {"append": 1, "parquet": 1}


def shrunk(steps: Sequence[Step], is_wrong: Callable[[list[Step]], bool], tries: int) -> list[Step]:
    """Returns a shorter list of steps for which `is_wrong` is still true, after at most `tries` calls of it."""
    left = list(steps)
    again = True
    while again and tries > 0:
        again = False
        for smaller in _smaller(left):
            if tries == 0:
                break
            tries -= 1
            if is_wrong(smaller):
                left, again = smaller, True
                break
    return left


def _smaller(steps: list[Step]) -> Iterator[list[Step]]:
    """Yields the list without one step, the last step first, then with half of the slices of one step."""
    for place in reversed(range(len(steps))):
        if not _is_creation(steps[place]):
            yield steps[:place] + steps[place + 1 :]
    for place, (name, arguments) in enumerate(steps):
        at = _SLICED.get(name)
        slices = arguments[at] if at is not None else []
        if len(slices) > 1:
            for half in (slices[: len(slices) // 2], slices[len(slices) // 2 :]):
                cut = (name, (*arguments[:at], half, *arguments[at + 1 :]))
                yield [*steps[:place], cut, *steps[place + 1 :]]


def _is_creation(step: Step) -> bool:
    name, arguments = step
    return name == "sql" and arguments[0].startswith(("DROP TABLE", "CREATE TABLE"))
