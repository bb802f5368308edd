# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import inspect

import zonemap
from zonemap import results
from zonemap.results import DropResult


def test_the_public_names_are_few_and_the_results_have_a_module_of_their_own() -> None:
    assert len(zonemap.__all__) <= 20
    assert not set(zonemap.__all__) & set(results.__all__)
    modules = (results.index, results.layout, results.queries)
    classes = {
        name
        for module in modules
        for name, found in inspect.getmembers(module, inspect.isclass)
        if found.__module__ == module.__name__ and not name.startswith("_")
    }
    assert classes == set(results.__all__)


def test_html_of_a_drop_says_whether_it_happened() -> None:
    assert "Would delete 1 files" in DropResult("t", True, ("/<a>",))._repr_html_()
    assert "Deleted 1 files" in DropResult("t", False, ("/<a>",))._repr_html_()
    assert "/&lt;a&gt;" in DropResult("t", False, ("/<a>",))._repr_html_()
