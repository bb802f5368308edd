# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from support import session

from campaign import steps


@pytest.fixture
def spark(base) -> SparkSession:
    """The session of the campaign, which has the jars of all kinds of tables."""
    wanted = steps.jars()
    running = session.get(wanted)
    return running if running.conf.get("spark.jars").startswith(wanted["spark.jars"]) else session.restart(wanted)
