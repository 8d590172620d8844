"""Identities of runs: readable, and testable for a dead process on the same machine."""

from __future__ import annotations

import getpass
import os
import re
import secrets
import socket
import uuid
from pathlib import Path
from typing import Final

_NAME: Final = re.compile(r".* pid (\d+) on ([0-9a-f]{12})\.[0-9a-f]+")


def own_identity() -> str:
    """Return user, host, process, machine and run: "ann@laptop pid 4711 on 0a1b2c3d4e5f.67d9"."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # containers often run with a user id that no password file has
        user = "unknown"
    return f"{user}@{socket.gethostname()} pid {os.getpid()} on {_machine()}.{secrets.token_hex(3)}"


def replica_name() -> str:
    """Return a unique name of this process that may be part of an object's name: "operator-7d9f-x2x4q-0a1b2c3d"."""
    host = re.sub(r"[^a-z0-9-]+", "-", socket.gethostname().lower()).strip("-")[:40]
    return f"{host or 'replica'}-{secrets.token_hex(4)}"


def is_dead(identity: str) -> bool:
    """Return whether the identity is of an ended process on this machine; False if unknown."""
    match = _NAME.fullmatch(identity)
    if match is None or match[2] != _machine() or not hasattr(os, "kill") or os.name == "nt":
        return False
    try:
        os.kill(int(match[1]), 0)  # signal 0 sends nothing; it only asks whether the process exists
    except ProcessLookupError:
        return True
    except OSError:  # EPERM: the process lives and belongs to another user
        return False
    return False


def _machine() -> str:
    """Return an id of this boot and process namespace (containers have their own)."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        table = os.readlink("/proc/self/ns/pid")
    except OSError:  # no /proc on this platform: network card and host name identify the machine
        boot, table = f"{uuid.getnode():x}", socket.gethostname()
    return uuid.uuid5(uuid.NAMESPACE_OID, f"{boot} {table}").hex[:12]
