"""Names of a command line that nothing has: one error, one exit status, and what is near."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kymatui.errors import UnknownNameError

if TYPE_CHECKING:
    from kymatui.domain.rows import Catalog
    from kymatui.wiring.pairs import PairSession
    from kymatui.wiring.sessions import CatalogSession


def unknown_module(catalog: Catalog, name: str) -> UnknownNameError:
    """Return the error of a module that neither the catalog nor the cluster has."""
    return UnknownNameError.near(
        "module", name, [row.name for row in catalog.rows], where=f"in {catalog.cluster}", hint="run `kymatui catalog`"
    )


def require_known(session: CatalogSession | PairSession, names: Sequence[str], channel: str | None) -> None:
    """Raise UnknownNameError for a module or a channel that nothing has; while lists are missing it is not known."""
    from kymatui.domain.catalog import catalog
    from kymatui.domain.direct import unknown

    snapshot = session.snapshot()
    if list(unknown(snapshot.feeds)):
        return
    seen = catalog(snapshot, time.time())
    for name in names:
        if seen.row(name) is None:
            raise unknown_module(seen, name)
    if channel and channel not in seen.channels:
        raise UnknownNameError.near(
            "channel", channel, seen.channels, where=f"in {seen.cluster}", hint=f"channels: {', '.join(seen.channels)}"
        )


def require_namespace(session: CatalogSession | PairSession, args: argparse.Namespace) -> None:
    """Raise UnknownNameError where --namespace names none; what may not be read is not known."""
    from kymatui.wiring.namespaces import require_namespace as require

    if name := getattr(args, "namespace", None):
        require(session.client, name)
