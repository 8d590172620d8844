"""How registries are reached: the options of every command that fetches or pushes."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kymatui.sessions.fetching import FetchOptions


def add_insecure_registries(parser: argparse._ActionsContainer) -> None:
    parser.add_argument(
        "--insecure-registry",
        action="append",
        default=[],
        metavar="HOST",
        help="registry to use without TLS; repeatable",
    )


def add_fetching(parser: argparse._ActionsContainer) -> None:
    add_insecure_registries(parser)
    parser.add_argument("--registry-ca", metavar="FILE", help="CA certificates for registries (default: the system's)")


def add_component_registry(parser: argparse._ActionsContainer, used: str) -> None:
    """Add `--registry`; its help starts with `used`, which names the option that it belongs to."""
    parser.add_argument(
        "--registry",
        metavar="HOST[/PATH]",
        default="",
        help=f"{used}: registry of components without descriptor in the template (default: option `registry`)",
    )


def fetch_options(args: argparse.Namespace) -> FetchOptions:
    from kymatui.sessions.fetching import FetchOptions

    ca = getattr(args, "registry_ca", None) or getattr(args, "ca_file", None)  # the latter is helm's
    return FetchOptions(tuple(getattr(args, "insecure_registry", ())), ca)
