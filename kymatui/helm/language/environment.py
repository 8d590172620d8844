"""External inputs of a rendering: clock, randomness, cluster, host names, limits."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, NamedTuple


def _local_now() -> datetime:
    return datetime.now(UTC).astimezone()


class RenderLimits(NamedTuple):
    """Limits of a chart's templates; exceeding one raises a HelmError.

    depth     templates within templates (Go allows 100,000, Python's stack fewer); Helm limits a name to 1000
    steps     actions, iterations and template calls in one rendering
    output    characters written, including all includes
    seconds   wall time of one rendering, with the validation of its values
    memory    bytes of text, lists and maps that functions make in one rendering, also of those that are dropped
    """

    depth: int = 5_000
    steps: int = 10_000_000
    output: int = 64_000_000
    seconds: float = 120.0
    memory: int = 512_000_000


class Environment(NamedTuple):
    """The inputs of a rendering; a Function with `takes_environment` receives it as first argument.

    random    returns random bytes (a seeded source makes renderings repeatable)
    now       returns the current time with its zone
    lookup    queries the cluster: (apiVersion, kind, namespace, name) → object or list; None: nothing is found
    resolve   returns a host's address for getHostByName; None: "" without network access
    lint      helm lint's mode: `required` and `fail` do not fail
    """

    random: Callable[[int], bytes] = os.urandom
    now: Callable[[], datetime] = _local_now
    lookup: Callable[[str, str, str, str], dict[str, Any]] | None = None
    resolve: Callable[[str], str] | None = None
    lint: bool = False
    limits: RenderLimits = RenderLimits()
    monotonic: Callable[[], float] = time.monotonic
