# SPDX-License-Identifier: Apache-2.0
"""The command that serves plans over Iceberg's REST catalog protocol."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

import click

from zonemap.commands import sessions, small_jvm
from zonemap.common.errors import InvalidArgumentError
from zonemap.common.redaction import without_secrets

PROGRAM = small_jvm.Program("zonemap.server.ServeProcess", "the server", "1g", ingest=False)

#: Where the server reads its settings, because other users of a machine can read the arguments of a process.
VARIABLE = "ZONEMAP_SERVE"
#: What callers must send as "Authorization: Bearer ...", if the catalog is not a REST catalog.
TOKEN = "ZONEMAP_SERVE_TOKEN"
#: Signs plan-ids and plan-tasks; servers behind one address need the same.
KEY = "ZONEMAP_SERVE_KEY"
#: Opens the key store of `--tls-keystore`.
KEYSTORE_PASSWORD = "ZONEMAP_SERVE_KEYSTORE_PASSWORD"
_SECRETS = {"token": TOKEN, "key": KEY, "keystore-password": KEYSTORE_PASSWORD}


@click.command("serve")
@click.option(
    "--catalog-property",
    "properties",
    multiple=True,
    metavar="KEY=VALUE",
    help="A property of the Iceberg catalog behind the server, such as type=rest or uri=URL; may be repeated.",
)
@click.option(
    "--catalog-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A file of such properties, one KEY=VALUE a line, so that no secret is an argument.",
)
@click.option(
    "--catalog-name",
    default="zonemap",
    show_default=True,
    help="The catalog's name; a JDBC catalog has only the tables that were made under the same name.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address at which the server listens.")
@click.option("--port", type=click.IntRange(0, 65535), default=8182, show_default=True, help="0 takes a free port.")
@click.option(
    "--tls-keystore",
    type=click.Path(exists=True, dir_okay=False, resolve_path=True),
    help="A key store (PKCS #12 or JKS) with the server's key and certificates: the server then speaks HTTPS.",
)
@click.option(
    "--upkeep",
    type=click.Choice(["off", "memory", "auto"]),
    default="memory",
    show_default=True,
    help="Whether new snapshots are indexed: not at all, in memory, or also in the store of a table that has one.",
)
@click.option(
    "--store-location", help="The folder of all indexes, as spark.sql.zonemap.store.location of the sessions."
)
@click.option("--hot-max-bytes", type=click.IntRange(1 << 20), help="The greatest size of the indexes in memory.")
@click.option("--max-plans", type=click.IntRange(1), default=8, show_default=True, help="The most plans at a time.")
@sessions.settings
@sessions.iceberg
def serve(
    properties: tuple[str, ...],
    catalog_file: Path | None,
    settings: tuple[str, ...],
    iceberg: str | None,
    **options: object,
) -> None:
    """Serve plans to clients of Iceberg's REST catalog protocol, until interrupted.

    The server stands before one catalog, plans the scans of tables from their indexes, and passes all other requests
    on. A small JVM takes the place of this process. ZONEMAP_SERVE_TOKEN in the environment is the token that callers
    of a catalog without callers of its own must send; ZONEMAP_SERVE_KEY signs the tokens of plans, if several servers
    share an address; ZONEMAP_SERVE_KEYSTORE_PASSWORD opens the key store.
    """
    served = _served(properties, catalog_file, options)
    command(served, settings=settings, iceberg=iceberg).replace_process()


def command(
    served: Mapping[str, object],
    *,
    settings: tuple[str, ...],
    iceberg: str | None,
    environment: Mapping[str, str] = os.environ,
) -> small_jvm.Command:
    """Returns the command that starts the server; it raises the errors of :func:`small_jvm.command`.

    Args:
        served: The settings of the server, as values of JSON.
        settings: Confs of spark-submit.
        iceberg: The version or the jar of Iceberg's runtime.
        environment: The variables of this process; the secrets among them are passed on in one variable only.
    """
    secrets = {name: environment.get(variable) for name, variable in _SECRETS.items()}
    found = small_jvm.command(PROGRAM, (), settings=settings, iceberg=iceberg, environment=environment)
    kept = {key: value for key, value in found.environment.items() if key not in _SECRETS.values()}
    return small_jvm.Command(found.words, kept | {VARIABLE: json.dumps({**served, **secrets})})


def _served(properties: tuple[str, ...], file: Path | None, options: Mapping[str, object]) -> dict[str, object]:
    lines = file.read_text("utf-8").splitlines() if file else []
    catalog = _properties([line for line in lines if line.strip() and not line.startswith("#")], "--catalog-file")
    catalog |= _properties(properties, "--catalog-property")
    if not catalog:
        raise InvalidArgumentError("Cannot serve plans: no catalog is given. Add --catalog-property.")
    return {key.replace("_", "-"): value for key, value in options.items()} | {"catalog": catalog}


def _properties(settings: tuple[str, ...] | list[str], option: str) -> dict[str, str]:
    found = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or not key.strip():
            shown = without_secrets(setting)
            raise InvalidArgumentError(f"Cannot read {option} '{shown}': it has no '='. Write KEY=VALUE.")
        found[key.strip()] = value.strip()
    return found


COMMANDS = (serve,)
