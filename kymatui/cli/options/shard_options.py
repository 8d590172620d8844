"""The option `--shards` of the operator, and of what runs it in a cluster."""

from __future__ import annotations

import argparse
from typing import Any, Final

from kymatui.errors import UsageError

MOST_SHARDS: Final = 64


def add_shards(parser: argparse.ArgumentParser, default: Any) -> None:
    """Add the option; without it, and without another default, the number is None."""
    parser.add_argument(
        "--shards",
        type=int,
        default=default,
        metavar="N",
        help="number of shards of the Kymas; above 1, all replicas are active (default: 1)",
    )


def require_shards(shards: int) -> None:
    """Raise UsageError for a number that cannot be."""
    if not 1 <= shards <= MOST_SHARDS:
        raise UsageError(f"--shards must be from 1 to {MOST_SHARDS}")
