"""URLs of Spark Connect servers as messages show them: host and port, without users, tokens and other parameters."""

from __future__ import annotations

import re

#: The start of the URL of a Spark Connect server.
SCHEME = "sc://"

#: Stands for a part of a URL that may be a secret.
HIDDEN = "***"

_URL = re.compile(re.escape(SCHEME) + r"\S*")
_CLOSING = "]')>\"`.,:!"
_HOST = re.compile(r"[A-Za-z0-9._-]*|\[[0-9A-Fa-f:.]+\]")


def host_and_port(url: str) -> tuple[str, str | None]:
    """Returns the text of the host and, if the URL has one, of the port; either may be malformed."""
    location = re.split(r"[;?#]", url.removeprefix(SCHEME), maxsplit=1)[0]
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
    """Returns ``text`` with each URL of a Spark Connect server as ``shown`` returns it."""
    return _URL.sub(_shown_in_text, text)


def _shown_in_text(match: re.Match[str]) -> str:
    found = match.group()
    url = found.rstrip(_CLOSING)
    if "[" in url and "]" not in url and found[len(url) :].startswith("]"):
        url += "]"  # of an IPv6 address
    return shown(url) + found[len(url) :]
