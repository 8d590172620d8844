"""Who is at work: a name for people, which also tells another process of the machine whether its bearer lives."""

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
    """ "ann@laptop pid 4711 on 0a1b2c3d4e5f.67d9": user, host, process, machine, and something of this run alone."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = "unknown"
    return f"{user}@{socket.gethostname()} pid {os.getpid()} on {_machine()}.{secrets.token_hex(3)}"


def is_dead(identity: str) -> bool:
    """Whether the bearer was a process of this machine that is gone. False where nobody can say."""
    match = _NAME.fullmatch(identity)
    if match is None or match[2] != _machine() or not hasattr(os, "kill") or os.name == "nt":
        return False
    try:
        os.kill(int(match[1]), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


def _machine() -> str:
    """The machine since it was started, and which of its process tables this is (containers have their own)."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        table = os.readlink("/proc/self/ns/pid")
    except OSError:
        boot, table = f"{uuid.getnode():x}", socket.gethostname()
    return uuid.uuid5(uuid.NAMESPACE_OID, f"{boot} {table}").hex[:12]
