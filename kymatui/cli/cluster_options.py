"""The options for clusters and registries, which most commands have, and those whose value is a duration."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING, Final

from kymatui.errors import UsageError
from kymatui.moments import parse_duration
from kymatui.patterns import deferred

if TYPE_CHECKING:
    from kymatui.sessions.fetching import FetchOptions


def add_cluster_options(parser: argparse.ArgumentParser) -> None:
    """Add cluster, namespace, read-only mode and colours."""
    parser.add_argument_group("terminal").add_argument(
        "--color",
        choices=("auto", "always", "never"),
        default=argparse.SUPPRESS,
        help="colours; auto: on a terminal, unless NO_COLOR is set (default: auto)",
    )
    group = parser.add_argument_group("cluster")
    group.add_argument(
        "--kubeconfig", metavar="FILE", help="kubeconfig to read (default: $KUBECONFIG, else ~/.kube/config)"
    )
    group.add_argument("--context", metavar="NAME", help="context to use (default: current-context)")
    group.add_argument(
        "-n",
        "--namespace",
        metavar="NS",
        help="namespace to use (default: the context's); commands read it if you may not list all namespaces, "
        "the terminal UI lists only this one",
    )
    group.add_argument("--user", metavar="NAME", help="user of the kubeconfig (default: the context's)")
    group.add_argument("--as", dest="as_user", metavar="USER", help="user to impersonate")
    group.add_argument(
        "--as-group", action="append", metavar="GROUP", help="group to impersonate, with --as; repeatable"
    )
    group.add_argument("--as-uid", metavar="UID", help="UID to impersonate, with --as")
    group.add_argument(
        "--request-timeout",
        type=read_duration,
        metavar="DURATION",
        help="time limit of each request to the cluster (default: kymatui's own limits)",
    )
    group.add_argument(
        "--read-only", action="store_true", help="refuse every write, send only reads (also: KYMATUI_READ_ONLY=1)"
    )
    group.add_argument(
        "--catalog",
        action="append",
        metavar="SOURCE",
        help="additional community modules: URL of an all-modules.yaml, file or folder; repeatable",
    )


def add_remote_options(parser: argparse.ArgumentParser, *, remote: str = "") -> None:
    """Add the control plane and a second cluster by hand; with `remote`, its help, also `--remote RUNTIME`."""
    group = parser.add_argument_group("control plane and runtime")
    if remote:
        group.add_argument("--remote", metavar="RUNTIME", help=remote)
    runtime = "of the runtime, instead of its access Secret"
    group.add_argument(
        "--kcp-kubeconfig", metavar="FILE", help="kubeconfig of the control plane (default: --kubeconfig)"
    )
    group.add_argument("--kcp-context", metavar="NAME", help="context of the control plane (default: --context)")
    group.add_argument("--skr-kubeconfig", metavar="FILE", help=f"kubeconfig {runtime}")
    group.add_argument("--skr-context", metavar="NAME", help=f"context {runtime}")


DURATION_EXAMPLES: Final = "examples: 90s, 5m, 1h30m, or seconds (300)"
_SECONDS = deferred(r"\d+(?:\.\d+)?", re.ASCII)


def add_duration(parser: argparse.ArgumentParser, option: str, default: str, help: str) -> None:
    """Add an option whose value is a duration in seconds; `default` is written as a user would."""
    parser.add_argument(
        option, type=read_duration, default=default, metavar="DURATION", help=f"{help} (default: {default})"
    )


def read_duration(text: str) -> float:
    """Return the seconds, greater than 0; raise ValueError with what the option must be."""
    negative = text.startswith("-")
    unsigned = text.removeprefix("-")
    seconds = parse_duration(f"{unsigned}s" if _SECONDS.fullmatch(unsigned) else unsigned)
    if seconds is None:
        raise ValueError("a duration")
    if negative or not seconds:
        raise ValueError("greater than 0")
    return seconds


def add_contexts(parser: argparse._ActionsContainer, text: str = "") -> None:
    """Add `--contexts`."""
    parser.add_argument(
        "--contexts",
        nargs="*",
        action="extend",
        metavar="GLOB",
        help=f"{text or 'run on these contexts of the kubeconfig'}: names, patterns such as 'prod-*', groups of the "
        "configuration (default: all)",
    )


def uses_contexts(args: argparse.Namespace) -> bool:
    """Return whether a command line is about many contexts. Raise UsageError for one that also names a cluster."""
    if getattr(args, "contexts", None) is None:
        return False
    for name in _OF_ONE_CONTEXT:
        if getattr(args, name, None):
            raise UsageError(f"--contexts and --{name.replace('_', '-')} exclude each other")
    return True


_OF_ONE_CONTEXT: Final = (
    *("context", "user", "namespace", "remote", "fleet"),
    *("skr_context", "skr_kubeconfig", "kcp_context", "kcp_kubeconfig"),
)
"""Options that name one cluster, or belong to one context."""


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
