# SPDX-License-Identifier: Apache-2.0
"""URLs of Spark Connect servers as messages show them: host and port, without users, tokens and other parameters."""

from __future__ import annotations

import re

#: The start of the URL of a Spark Connect server.
SCHEME = "sc://"

#: Stands for a part of a URL that may be a secret.
HIDDEN = "***"

_URL = re.compile(re.escape(SCHEME) + r"\S*", re.IGNORECASE)
_PARAMETERS = re.compile(r"[;?#]")
_CLOSER_OF = {"'": "'", '"': '"', "`": "`", "[": "]", "(": ")", "<": ">"}
_CLOSING = "]')>\"`.,:!"
_HOST = re.compile(r"[A-Za-z0-9._-]*|\[[0-9A-Fa-f:.]+\]")


def host_and_port(url: str) -> tuple[str, str | None]:
    """Returns the text of the host and, if the URL has one, of the port; either may be malformed."""
    location = re.split(r"[;?#]", url[len(SCHEME) :] if url.lower().startswith(SCHEME) else url, maxsplit=1)[0]
    address = location.rpartition("@")[2].partition("/")[0]
    host, colon, port = address.rpartition(":")
    return (host, port) if colon and not address.endswith("]") else (address, None)


def has_host(url: str) -> bool:
    """Returns True if the URL has a host that is a name or an address."""
    host, _ = host_and_port(url)
    return bool(host) and _HOST.fullmatch(host) is not None


def shown(url: str) -> str:
    """Returns the URL with its host and port only; a malformed host or port is hidden, since it may be a secret."""
    host, port = host_and_port(url)
    if _HOST.fullmatch(host) is None:
        return SCHEME + HIDDEN
    if port is None:
        return SCHEME + host
    return f"{SCHEME}{host}:{port if port.isdecimal() else HIDDEN}"


def without_secrets(text: str) -> str:
    """Returns ``text`` with each URL of a Spark Connect server as ``shown`` returns it.

    A parameter may have spaces: a URL with parameters ends at the quote or bracket around it, else with its line.
    """
    parts: list[str] = []
    done = 0
    while (match := _URL.search(text, done)) is not None:
        parts.append(text[done : match.start()])
        done = _end(text, match)
        parts.append(_shown_in_text(text[match.start() : done]))
        if done > match.end() and _closer(text, match) is None:
            parts.append(f" {HIDDEN}")
    return "".join(parts) + text[done:]


def _closer(text: str, match: re.Match[str]) -> str | None:
    return _CLOSER_OF.get(text[match.start() - 1]) if match.start() > 0 else None


def _end(text: str, match: re.Match[str]) -> int:
    parameters = _PARAMETERS.search(match.group())
    closer = _closer(text, match)
    if parameters is None or (closer is not None and closer in match.group()[parameters.start() :]):
        return match.end()
    line = text.find("\n", match.end())
    line = len(text) if line < 0 else line
    closed = -1 if closer is None else text.find(closer, match.end(), line)
    return line if closed < 0 else closed


def _shown_in_text(found: str) -> str:
    url = found.rstrip(_CLOSING)
    if "[" in url and "]" not in url and found[len(url) :].startswith("]"):
        url += "]"  # of an IPv6 address
    return shown(url) + found[len(url) :]
