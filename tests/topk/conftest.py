# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from support import session, steps


@pytest.fixture(scope="session")
def plain(base) -> str:
    """The table of `steps`, which tests only read; tests that write create their own table."""
    return steps.make(session.get(), "lake.topk.plain")
