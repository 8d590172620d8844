"""The options for clusters and registries, which most commands have, and those whose value is a duration."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from kymatui.errors import UsageError
from kymatui.moments import parse_duration
from kymatui.patterns import deferred

if TYPE_CHECKING:
    from kymatui.sessions.fetching import FetchOptions


def add_option(container: argparse._ActionsContainer, option: str, text: str, **more: Any) -> None:
    """Add an option with its help: `--flag`, `-n --name VALUE`, or `--name VALUE…` for one that may be repeated.

    An argument without a name is `attribute` or `attribute VALUE`; `more` is what neither says.
    """
    words = option.split()
    names = [word for word in words if word.startswith("-")] or words[:1]
    value = option.removeprefix(" ".join(names)).strip()
    if value.endswith("…"):
        more = {"action": "append", "default": [], "metavar": value[:-1], **more}
    elif value:
        more = {"metavar": value, **more}
    elif words[0].startswith("-") and more.keys().isdisjoint(("action", "choices", "nargs")):
        more = {"action": "store_true", **more}
    container.add_argument(*names, help=text, **more)


def add_options(
    container: argparse._ActionsContainer, options: Mapping[str, str], default: Any = None, read: Any = None
) -> None:
    """Add options with their helps.

    `default` is that of values, which `read` converts; with "" it is an empty list for repeated ones.
    """
    for option, text in options.items():
        if option.endswith("…"):
            more: dict[str, Any] = {"default": None if default is None else []}
        elif option.split()[-1].startswith("-"):
            more = {"default": default if default is argparse.SUPPRESS else False}
        else:
            more = {"default": default, "type": read}
        add_option(container, option, text, **more)


def add_output(parser: argparse.ArgumentParser, forms: Sequence[str]) -> None:
    """Add `-o`; the first format is the default."""
    text = f"output format (default: {forms[0]})"
    add_option(parser, "-o --output", text, choices=forms, default=forms[0])


def add_cluster_options(parser: argparse.ArgumentParser) -> None:
    """Add cluster, namespace, read-only mode and colours."""
    add_option(
        parser.add_argument_group("terminal"),
        "--color",
        "colours; auto: on a terminal, unless NO_COLOR is set (default: auto)",
        choices=("auto", "always", "never"),
        default=argparse.SUPPRESS,
    )
    group = parser.add_argument_group("cluster")
    options = {
        "--kubeconfig FILE": "kubeconfig to read (default: $KUBECONFIG, else ~/.kube/config)",
        "--context NAME": "context to use (default: current-context)",
        "-n --namespace NS": "namespace to use (default: the context's); commands read it if you may not list all "
        "namespaces, the terminal UI lists only this one",
        "--user NAME": "user of the kubeconfig (default: the context's)",
    }
    add_options(group, options)
    add_option(group, "--as USER", "user to impersonate", dest="as_user")
    options = {
        "--as-group GROUP…": "group to impersonate, with --as; repeatable",
        "--as-uid UID": "UID to impersonate, with --as",
    }
    add_options(group, options)
    text = "time limit of each request to the cluster (default: kymatui's own limits)"
    add_options(group, {"--request-timeout DURATION": text}, read=read_duration)
    options = {
        "--read-only": "refuse every write, send only reads (also: KYMATUI_READ_ONLY=1)",
        "--catalog SOURCE…": "additional community modules: URL of an all-modules.yaml, file or folder; repeatable",
    }
    add_options(group, options)


def add_remote_options(parser: argparse.ArgumentParser, *, remote: str = "") -> None:
    """Add the control plane and a second cluster by hand; with `remote`, its help, also `--remote RUNTIME`."""
    group = parser.add_argument_group("control plane and runtime")
    if remote:
        add_option(group, "--remote RUNTIME", remote)
    runtime = "of the runtime, instead of its access Secret"
    add_option(group, "--kcp-kubeconfig FILE", "kubeconfig of the control plane (default: --kubeconfig)")
    add_option(group, "--kcp-context NAME", "context of the control plane (default: --context)")
    add_option(group, "--skr-kubeconfig FILE", f"kubeconfig {runtime}")
    add_option(group, "--skr-context NAME", f"context {runtime}")


DURATION_EXAMPLES: Final = "examples: 90s, 5m, 1h30m, or seconds (300)"
_SECONDS = deferred(r"\d+(?:\.\d+)?", re.ASCII)


def add_duration(parser: argparse.ArgumentParser, option: str, default: str, help: str) -> None:
    """Add an option whose value is a duration in seconds; `default` is written as a user would."""
    add_options(parser, {f"{option} DURATION": f"{help} (default: {default})"}, default, read_duration)


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
    add_option(
        parser,
        "--contexts GLOB",
        f"{text or 'run on these contexts of the kubeconfig'}: names, patterns such as 'prod-*', groups of the "
        "configuration (default: all)",
        nargs="*",
        action="extend",
    )


def uses_contexts(args: argparse.Namespace) -> bool:
    """Return whether a command line is about many contexts. Raise UsageError for one that also names a cluster."""
    if getattr(args, "contexts", None) is None:
        return False
    for name in OF_ONE_CONTEXT:
        if getattr(args, name, None):
            raise UsageError(f"--contexts and --{name.replace('_', '-')} exclude each other")
    return True


OF_ONE_CONTEXT: Final = (
    *("context", "user", "namespace", "remote", "fleet"),
    *("skr_context", "skr_kubeconfig", "kcp_context", "kcp_kubeconfig"),
)
"""Options that name one cluster, or belong to one context."""


def add_insecure_registries(parser: argparse._ActionsContainer) -> None:
    add_options(parser, {"--insecure-registry HOST…": "registry to use without TLS; repeatable"}, "")


def add_fetching(parser: argparse._ActionsContainer) -> None:
    add_insecure_registries(parser)
    add_option(parser, "--registry-ca FILE", "CA certificates for registries (default: the system's)")


def add_component_registry(parser: argparse._ActionsContainer, used: str) -> None:
    """Add `--registry`; its help starts with `used`, which names the option that it belongs to."""
    add_option(
        parser,
        "--registry HOST[/PATH]",
        f"{used}: registry of components without descriptor in the template (default: option `registry`)",
        default="",
    )


def fetch_options(args: argparse.Namespace) -> FetchOptions:
    from kymatui.sessions.fetching import FetchOptions

    ca = getattr(args, "registry_ca", None) or getattr(args, "ca_file", None)  # the latter is helm's
    return FetchOptions(tuple(getattr(args, "insecure_registry", ())), ca)
