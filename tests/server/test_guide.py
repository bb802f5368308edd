# SPDX-License-Identifier: Apache-2.0
"""The Python of the guide's page server.md, against a server at a free port."""

from __future__ import annotations

import pytest
from support import guide, product, tables
from support.session import ROOT, STOCK

from server.conftest import Server

pytestmark = pytest.mark.skipif(STOCK, reason="about the product")


def test_the_python_of_the_page(spark, of_rest: Server, tmp_path) -> None:
    name = tables.create(spark, "lake.db.events", "id BIGINT")
    tables.append(spark, name, [[(place * 10 + i,) for i in range(10)] for place in range(20)], "id BIGINT")
    product.build(spark, name)
    page = tmp_path / "server.md"
    text = (ROOT / "docs" / "guide" / "server.md").read_text(encoding="utf-8")
    page.write_text(text.replace("http://127.0.0.1:8182", of_rest.url), encoding="utf-8")
    before = sum(count for key, count in of_rest.counts().items() if "files" in key and "kept" in key)
    rows = guide.run(page, spark)[1]["rows"]
    assert sorted(rows["id"].to_pylist()) == list(range(120, 140))
    after = sum(count for key, count in of_rest.counts().items() if "files" in key and "kept" in key)
    assert after - before == 2
