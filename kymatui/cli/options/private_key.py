"""Private keys for signing: from a file, a variable of the environment, or standard input; never from an argument."""

from __future__ import annotations

import argparse
import getpass
import os
import re
import sys
from pathlib import Path
from typing import Final

from kymatui.errors import ConfigurationError, UsageError
from kymatui.ocm.private_keys import PrivateKey, read_private_key

PASS_VARIABLE: Final = "KYMATUI_KEY_PASSWORD"  # noqa: S105 (the name of a variable)
LARGEST_KEY: Final = 64 * 1024  # bytes; a larger file is no key, and standard input may have no end

_VARIABLE: Final = re.compile(r"env://([A-Za-z_][A-Za-z0-9_]*)")


def add_private_key(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--private-key",
        required=True,
        metavar="FILE",
        help=f"PEM file, env://VARIABLE, or - for standard input; {PASS_VARIABLE} has its password",
    )


def private_key(place: str) -> PrivateKey:
    """Return the key. Raises UsageError, ConfigurationError and PrivateKeyError; none of them names its content."""
    text = _text(place)
    if len(text) > LARGEST_KEY:
        raise ConfigurationError(f"--private-key is larger than {LARGEST_KEY} bytes")
    return read_private_key(text, lambda: _password(place))


def _text(place: str) -> bytes:
    if "PRIVATE KEY" in place or "\n" in place:
        raise UsageError("--private-key must not be the key itself", hint="use a file, env://VARIABLE, or - for stdin")
    if place == "-":
        return sys.stdin.buffer.read(LARGEST_KEY + 1)
    if place.startswith("env://"):
        found = _VARIABLE.fullmatch(place)
        value = os.environ.get(found[1], "") if found else ""
        if not value:
            raise UsageError(f"--private-key: {place} is not set", hint="write env://NAME of a variable with the key")
        return value.encode("utf-8", "surrogateescape")
    try:
        with Path(place).open("rb") as file:
            return file.read(LARGEST_KEY + 1)
    except OSError as error:
        raise ConfigurationError(f"--private-key: {place} cannot be read: {error.strerror or error}") from error


def _password(place: str) -> bytes:
    given = os.environ.get(PASS_VARIABLE)
    if given is not None:
        return given.encode("utf-8", "surrogateescape")
    if place == "-" or not sys.stdin.isatty():
        raise UsageError(
            "the private key is encrypted, and there is no terminal to ask for its password",
            hint=f"set {PASS_VARIABLE}",
        )
    return getpass.getpass(f"Password of {place}: ").encode()
