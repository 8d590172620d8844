"""How registries are reached: the options of every command that fetches or pushes."""

from __future__ import annotations

import argparse

from kymatui.composition.manifest_controller import FetchOptions


def add_fetching(parser: argparse._ActionsContainer) -> None:
    parser.add_argument(
        "--insecure-registry",
        action="append",
        default=[],
        metavar="HOST",
        help="registry to use without TLS; repeatable",
    )
    parser.add_argument("--registry-ca", metavar="FILE", help="CA certificates for registries (default: the system's)")


def fetch_options(args: argparse.Namespace) -> FetchOptions:
    return FetchOptions(tuple(getattr(args, "insecure_registry", ())), getattr(args, "registry_ca", None))
