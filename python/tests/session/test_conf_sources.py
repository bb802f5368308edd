# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from zonemap.session.conf_sources import (
    CurrentConf,
    default_confs,
    merge_list,
    parse_properties,
    split_list,
    submitted_confs,
)


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ("", {}),
        ("pyspark-shell", {}),
        ("--conf a=b pyspark-shell", {"a": "b"}),
        ("-c a=b=c x", {"a": "b=c"}),
        ("--conf=a=b x", {"a": "b"}),
        ("--conf 'a=b c' x", {"a": "b c"}),
        ("--conf a=1 --conf a=2 x", {"a": "2"}),
        ("--jars /a.jar,/b.jar --packages g:a:1 x", {"spark.jars": "/a.jar,/b.jar", "spark.jars.packages": "g:a:1"}),
        ("--jars /a.jar --conf spark.jars=/b.jar x", {"spark.jars": "/a.jar"}),
        ("--master local --name n x", {}),
    ],
)
def test_submit_arguments(arguments: str, found: dict[str, str]) -> None:
    assert submitted_confs(arguments) == found


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("", {}),
        ("# spark.a b", {}),
        ("! spark.a b", {}),
        ("spark.a b", {"spark.a": "b"}),
        ("  spark.a\t b ", {"spark.a": "b"}),
        ("spark.a=b=c", {"spark.a": "b=c"}),
        ("spark.a : b", {"spark.a": "b"}),
        ("spark.a", {"spark.a": ""}),
    ],
)
def test_properties(line: str, found: dict[str, str]) -> None:
    assert parse_properties(line) == found


def test_no_defaults_file_is_no_conf() -> None:
    assert default_confs({}) == {}
    assert default_confs({"SPARK_HOME": "/nowhere"}) == {}


def test_the_strongest_layer_wins() -> None:
    conf = CurrentConf({"a": 1}, {"a": "2", "b": "2"}, {"a": "3", "b": "3", "c": "3"})
    assert [conf.get(key) for key in "abcd"] == ["1", "2", "3", None]


def test_lists_keep_their_order_and_hold_an_item_once() -> None:
    assert split_list(" a,,b , a") == ["a", "b", "a"]
    assert merge_list(["a", "b", "a"], ["b", "c"]) == "a,b,c"
