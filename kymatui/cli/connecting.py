"""From the words of a command line and the configuration to a session with one cluster."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from kymatui.settings.loading import Settings, load_settings

if TYPE_CHECKING:
    from kymatui.wiring.options import SessionOptions
    from kymatui.wiring.sessions import CatalogSession


def wanted(args: argparse.Namespace, environment: Mapping[str, str] | None = None) -> tuple[SessionOptions, Settings]:
    """Which cluster, and whether it may be written to: the command line, then the environment, then the file.

    What forbids writing in any of them holds.
    """
    from kymatui.wiring.options import SessionOptions

    settings = load_settings(os.environ if environment is None else environment)
    catalogs = (getattr(args, "catalog", None), getattr(args, "more_catalogs", None), settings.catalogs)
    options = SessionOptions(
        kubeconfig=getattr(args, "kubeconfig", None) or "",
        context=getattr(args, "context", None) or "",
        namespace=getattr(args, "namespace", None) or "",
        read_only=bool(getattr(args, "read_only", False)) or settings.read_only,
        catalogs=tuple(source for sources in catalogs for source in sources or ()),
        maintenance_policy=settings.maintenance_policy,
        restricted_modules=settings.restricted_modules,
    )
    return options, settings


def connected(options: SessionOptions, settings: Settings) -> CatalogSession:
    """Opens the session; a context that the configuration makes read-only is opened so before anything is sent."""
    from kymatui.wiring import open_session

    session = open_session(options)
    if settings.context(session.name).read_only and not options.read_only:
        session.close()
        session = open_session(replace(options, read_only=True))
    return session
