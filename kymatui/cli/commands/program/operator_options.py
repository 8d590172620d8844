"""The options that the operator shares with what runs it in a cluster: shards, Manifests, charts."""

from __future__ import annotations

import argparse
import re
from collections.abc import Collection
from typing import Any, Final

from kymatui.cli.cluster_options import add_option, add_options
from kymatui.errors import UnknownNameError, UsageError
from kymatui.operator.manifests.manifest_marks import MANIFEST_ACCOUNT
from kymatui.operator.monitoring.operator_log import OPERATOR
from kymatui.operator.program import CONTROLLERS

MOST_SHARDS: Final = 64
NAMESPACE: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_NAME: Final = re.compile(r"[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?")


def add_shards(parser: argparse.ArgumentParser, default: Any) -> None:
    """Add the option; without it, and without another default, the number is None."""
    text = "number of shards of the Kymas; above 1, all replicas are active (default: 1)"
    add_options(parser, {"--shards N": text}, default, int)


def require_shards(shards: int) -> None:
    """Raise UsageError for a number that cannot be."""
    if not 1 <= shards <= MOST_SHARDS:
        raise UsageError(f"--shards must be from 1 to {MOST_SHARDS}")


def add_manifest_namespaces(parser: argparse.ArgumentParser, default: Any) -> None:
    """Add the options; `default` is their default value."""
    options = {
        "--manifest-namespaces NAMES": "further namespaces whose Manifests are installed, each with the rights of a "
        "ServiceAccount there, separated by commas (default: only the namespace of the Kymas)",
        "--manifest-service-account NAME": "ServiceAccount that the operator impersonates in each of them "
        f"(default: {MANIFEST_ACCOUNT})",
    }
    add_options(parser, options, default)


def manifest_namespaces(args: argparse.Namespace, home: str, controllers: Collection[str]) -> tuple[str, ...]:
    """Return the namespaces; `home` is that of the Kymas, `controllers` are empty for all. Raise UsageError."""
    namespaces = tuple(dict.fromkeys(split_names(args.manifest_namespaces)))
    for name in namespaces:
        if not NAMESPACE.fullmatch(name):
            raise UsageError(f'--manifest-namespaces "{name}" is not a namespace', hint="write one or more names: a,b")
    if home in namespaces:
        raise UsageError(f"--manifest-namespaces must not name {home}: the operator installs its Manifests anyway")
    if namespaces and controllers and "manifest" not in controllers:
        raise UsageError("--manifest-namespaces needs the controller manifest")
    return namespaces


def manifest_account(args: argparse.Namespace) -> str:
    """Return the name of the ServiceAccount. Raise UsageError."""
    name: str = args.manifest_service_account or MANIFEST_ACCOUNT
    if not _NAME.fullmatch(name):
        raise UsageError(f'--manifest-service-account "{name}" is not the name of a ServiceAccount')
    return name


def add_lookup_secrets(parser: argparse.ArgumentParser, default: Any) -> None:
    """Add the option; `default` is its default value."""
    add_option(
        parser,
        "--lookup-secrets NAMES",
        "Secrets that charts of Manifests may read with lookup, separated by commas: NAMESPACE/NAME, or "
        "NAMESPACE/* for all of a namespace (default: only those of their own release)",
        default=default,
    )


def lookup_secrets(args: argparse.Namespace) -> tuple[str, ...]:
    """Return the Secrets that charts may read. Raise UsageError."""
    names = tuple(dict.fromkeys(split_names(args.lookup_secrets)))
    for name in names:
        namespace, _, rest = name.partition("/")
        if not (NAMESPACE.fullmatch(namespace) and (rest == "*" or _NAME.fullmatch(rest))):
            raise UsageError(f'--lookup-secrets "{name}" names no Secret', hint="write NAMESPACE/NAME or NAMESPACE/*")
    return names


LOGGED: Final = (*CONTROLLERS, "purge", "state-metrics", OPERATOR)
"""The names whose level in the log can be set: the controllers, and the operator as a whole."""


def add_log_level(parser: argparse.ArgumentParser, default: Any) -> None:
    """Add the option; `default` is its default value."""
    levels = "debug, info, warning or error"
    text = f"lowest level of the log: {levels}; of single controllers after commas: info,manifest=debug (default: info)"
    add_options(parser, {"--log-level LEVELS": text}, default)


def split_names(text: str) -> tuple[str, ...]:
    """Return the names of an option, which are separated by commas."""
    return tuple(filter(None, (part.strip() for part in text.split(","))))


def read_controllers(args: argparse.Namespace) -> tuple[str, ...]:
    """Return the controllers; check the registry, which is theirs. Raise UsageError, UnknownNameError."""
    if args.registry and not args.registry.startswith(("http://", "https://")):
        raise UsageError("--registry must begin with http:// or https://", hint=f"try https://{args.registry}")
    names = split_names(args.controllers)
    for name in names:
        if name not in CONTROLLERS:
            raise UnknownNameError.near("controller", name, CONTROLLERS, hint=f"valid: {', '.join(CONTROLLERS)}")
    return names
