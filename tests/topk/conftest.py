from __future__ import annotations

import pytest
from support import session, steps


@pytest.fixture(scope="session")
def plain(base) -> str:
    """The table of `steps` that tests read; those that write make their own."""
    return steps.make(session.get(), "lake.topk.plain")
