# SPDX-License-Identifier: Apache-2.0
"""The command that starts the server: what it passes on, and that no secret is an argument."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from zonemap.commands import cli, serve, small_jvm
from zonemap.common.errors import InvalidArgumentError


def started(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> small_jvm.Command:
    """Runs the command line up to the start of the JVM."""
    found: list[small_jvm.Command] = []

    def keep(command: small_jvm.Command) -> None:
        found.append(command)

    monkeypatch.setattr(small_jvm.Command, "replace_process", keep)
    CliRunner().invoke(cli.cli, ["serve", *arguments], catch_exceptions=False)
    return found[0]


def test_settings_and_secrets_are_in_one_variable(jar: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(serve.TOKEN, "token-of-callers")
    monkeypatch.setenv(serve.KEY, "key-of-tokens")
    monkeypatch.setenv(serve.KEYSTORE_PASSWORD, "password-of-store")
    store = tmp_path / "server.p12"
    store.touch()
    file = tmp_path / "catalog.properties"
    file.write_text("# a comment\n\ntype=jdbc\njdbc.password = a=b\n")
    found = started(
        monkeypatch,
        *("--catalog-file", str(file), "--catalog-property", "uri=jdbc:x", "--port", "0", "--store-location", "/index"),
        *("--tls-keystore", str(store)),
    )
    assert found.words[-3:] == ["--class", "zonemap.server.ServeProcess", "spark-internal"]
    settings = json.loads(found.environment[serve.VARIABLE])
    assert settings["catalog"] == {"type": "jdbc", "jdbc.password": "a=b", "uri": "jdbc:x"}
    assert (settings["port"], settings["host"], settings["upkeep"]) == (0, "127.0.0.1", "memory")
    assert (settings["token"], settings["key"]) == ("token-of-callers", "key-of-tokens")
    assert (settings["tls-keystore"], settings["keystore-password"]) == (str(store), "password-of-store")
    assert (settings["store-location"], settings["hot-max-bytes"]) == ("/index", None)
    shown = " ".join(found.words)
    for secret in ("token-of-callers", "key-of-tokens", "password-of-store", "a=b"):
        assert secret not in shown
    assert not {serve.TOKEN, serve.KEY, serve.KEYSTORE_PASSWORD} & found.environment.keys()


@pytest.mark.parametrize("arguments", [(), ("--catalog-property", "uri")])
def test_a_server_without_a_catalog_is_refused(arguments: tuple[str, ...]) -> None:
    with pytest.raises(InvalidArgumentError):
        CliRunner().invoke(cli.cli, ["serve", *arguments], catch_exceptions=False)
