"""What a rendering takes from outside: clock, randomness, the cluster, names, and the limits it must keep."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, NamedTuple


def _local_now() -> datetime:
    return datetime.now(UTC).astimezone()


class RenderLimits(NamedTuple):
    """How much a chart's templates may use; each has a clear HelmError.

    depth     templates within templates (Go allows 100,000; Python's stack less), besides Helm's own 1000 for one name
    steps     actions, iterations and calls of templates in one rendering
    output    characters written, all templates and includes counted
    seconds   wall time of one rendering
    """

    depth: int = 5_000
    steps: int = 10_000_000
    output: int = 128_000_000
    seconds: float = 120.0


class Environment(NamedTuple):
    """Given by the caller of a rendering; a Function with `takes_environment` gets it as its first argument.

    random    so many random bytes (a seeded source makes renderings repeatable)
    now       the time of day, with its zone
    lookup    asks the cluster: (apiVersion, kind, namespace, name) → object or list; None: nothing is ever found
    resolve   a host's address for getHostByName; None: "" without a look at the network
    lint      helm lint's way: `required` and `fail` do not fail
    """

    random: Callable[[int], bytes] = os.urandom
    now: Callable[[], datetime] = _local_now
    lookup: Callable[[str, str, str, str], dict[str, Any]] | None = None
    resolve: Callable[[str], str] | None = None
    lint: bool = False
    limits: RenderLimits = RenderLimits()
    monotonic: Callable[[], float] = time.monotonic
