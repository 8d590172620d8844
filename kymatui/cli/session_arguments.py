"""From the words of a command line and the configuration to a session with one cluster.

Logins of a command: what a credential plugin prints appears on standard error as it comes.
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import PurePath
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kymatui.engine.cluster.logins import LOGINS, Login
from kymatui.errors import UsageError
from kymatui.patterns import deferred
from kymatui.settings.config_file import Settings, load_settings

if TYPE_CHECKING:
    from kymatui.sessions.cluster.catalog_session import CatalogSession
    from kymatui.sessions.cluster.session_options import AccessOverrides, RemoteOptions, SessionOptions
    from kymatui.sessions.control_plane.pair_session import PairSession


def print_logins() -> None:
    """Print from now on what plugins print, and let them have the terminal of the command."""
    LOGINS.front_end = _PrintedLogins()


class _PrintedLogins:
    """Prints each line with the plugin's name before it, so that it forges no message of kymatui."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._unfinished: Login | None = None

    def changed(self, login: Login, text: str) -> None:
        with self._lock:
            if self._unfinished is not None and (self._unfinished is not login or not login.is_running):
                sys.stderr.write("\n")  # another message begins, and the prompt had no line break
                self._unfinished = None
            for line in text.splitlines(keepends=True):
                is_start = self._unfinished is None and line.strip()
                sys.stderr.write(f"{PurePath(login.plugin).name}: {line}" if is_start else line)
                self._unfinished = None if line.endswith("\n") else login
            sys.stderr.flush()

    def lend_terminal(self, login: Login) -> AbstractContextManager[bool]:
        del login
        return nullcontext(sys.stdin.isatty())


def session_options_of(
    args: argparse.Namespace, environment: Mapping[str, str] | None = None
) -> tuple[SessionOptions, Settings]:
    """Return which cluster, and whether it may be written to: the command line, then the environment, then the file.

    What forbids writing in any of them holds.
    """
    from kymatui.sessions.cluster.session_options import SessionOptions

    print_logins()
    settings = load_settings(os.environ if environment is None else environment)
    catalogs = (getattr(args, "catalog", None), settings.catalogs)
    options = SessionOptions(
        kubeconfig=getattr(args, "kubeconfig", None) or "",
        context=getattr(args, "context", None) or "",
        namespace=getattr(args, "namespace", None) or "",
        read_only=any(getattr(args, name, False) for name in ("read_only", "audit")) or settings.read_only,
        catalogs=tuple(source for sources in catalogs for source in sources or ()),
        maintenance_policy=settings.maintenance_policy,
        restricted_modules=settings.restricted_modules,
        access=_access(args),
    )
    return options, settings


def _access(args: argparse.Namespace) -> AccessOverrides:
    """Return who sends the requests, and for how long. Raise UsageError for a group or UID without a user."""
    from kymatui.sessions.cluster.session_options import AccessOverrides

    user, groups, uid = (getattr(args, name, None) for name in ("as_user", "as_group", "as_uid"))
    if (groups or uid) and not user:
        raise UsageError("--as-group and --as-uid need --as", hint="--as names the user to impersonate")
    limit = getattr(args, "request_timeout", None) or 0.0
    return AccessOverrides(getattr(args, "user", None) or "", user or "", tuple(groups or ()), uid or "", limit)


def open_configured_session(options: SessionOptions, settings: Settings, *, once: bool = False) -> CatalogSession:
    """Open the session; a context that the configuration makes read-only is opened so before anything is sent.

    `once` says that nobody waits for a change of what is listed.
    """
    from kymatui.sessions.cluster.catalog_session import open_session

    options = replace(options, once=once)
    session = open_session(options)
    if settings.context(session.name).read_only and not options.read_only:
        session.close()
        session = open_session(replace(options, read_only=True))
    return session


def open_chosen(
    args: argparse.Namespace, *, read_only: bool = False, elsewhere: bool = False, once: bool = False
) -> PairSession | CatalogSession:
    """Open the session of a command line: of one cluster, or with `--remote` of a runtime and its control plane."""
    if is_remote(args):
        return open_configured_pair(args, read_only=read_only, elsewhere=elsewhere, once=once)
    options, settings = session_options_of(args)
    return open_configured_session(replace(options, read_only=options.read_only or read_only), settings, once=once)


def why_read_only(args: argparse.Namespace) -> str:
    """Return why the clusters of a command line may only be read; "" where they may be written to. Sends nothing."""
    from kymatui.sessions.cluster.cluster_access import context_name

    options, settings = session_options_of(args)
    if options.read_only:
        return f"kymatui runs read-only ({_forbidding(args)})"
    if not settings.contexts:
        return ""
    names = [context_name(side) for side in _written_to(args, options)]
    shut = [name for name in names if settings.context(name).read_only]
    return f"context {shut[0]} is read-only (configuration file)" if shut else ""


def _forbidding(args: argparse.Namespace) -> str:
    flags = [f"--{name.replace('_', '-')}" for name in ("audit", "read_only") if getattr(args, name, False)]
    return flags[0] if flags else _VARIABLE if os.environ.get(_VARIABLE) else "configuration file"


def _written_to(args: argparse.Namespace, options: SessionOptions) -> tuple[SessionOptions, ...]:
    """Return the clusters that a command line writes to."""
    if args.command.name == "bundle" and not getattr(args, "current_context", False):  # registries are in no context
        return ()
    if getattr(args, "contexts", None) is not None:  # each is asked by itself, and those that are read-only left out
        return ()
    if getattr(args, "read_kubeconfig", None):  # of a sandbox
        return (replace(options, kubeconfig=args.read_kubeconfig, context=args.read_context),)
    if is_remote(args) or getattr(args, "fleet", False):
        remote, _ = remote_options_of(args)
        return tuple(side for side in (remote.control, remote.by_hand) if side is not None)
    return (options,)


_VARIABLE = "KYMATUI_READ_ONLY"


# two clusters


_ABOUT_RUNTIMES = deferred(
    r"`(kymatui (?:adopt|apply|audit|catalog|channel|check|checks|delete|diagnose|disable|drift|edit|enable|events"
    r"|finalizers|install|label|logs|manage|manifest|module|plan|policy|restore|resume|rights|unmanage|upgrade|versions)(?![\w-])(?![^`]*--(?:remote|help))[^`]*)`"
)


def with_remote_option(text: str, runtime: str) -> str:
    """Return a text in which the commands that can be about a runtime are about this one."""
    return _ABOUT_RUNTIMES.sub(lambda match: f"`{match[1]} --remote {runtime}`", text)


def remote_options_of(
    args: argparse.Namespace, runtime: str = "", *, read_only: bool = False
) -> tuple[RemoteOptions, Settings]:
    """Return the control plane and perhaps one runtime; read-only for one of them is read-only for both."""
    from kymatui.sessions.cluster.cluster_access import context_name
    from kymatui.sessions.cluster.session_options import RemoteOptions, SessionOptions

    options, settings = session_options_of(args)
    control = replace(
        options,
        kubeconfig=getattr(args, "kcp_kubeconfig", None) or options.kubeconfig,
        context=getattr(args, "kcp_context", None) or options.context,
        read_only=options.read_only or read_only,
    )
    file, context = getattr(args, "skr_kubeconfig", None) or "", getattr(args, "skr_context", None) or ""
    by_hand = SessionOptions(kubeconfig=file or control.kubeconfig, context=context) if file or context else None
    shut = control.read_only or any(
        settings.context(context_name(side)).read_only for side in (control, by_hand) if side is not None
    )
    if by_hand is not None:
        by_hand = replace(by_hand, read_only=shut)
    return RemoteOptions(
        replace(control, read_only=shut), runtime or getattr(args, "remote", None) or "", by_hand
    ), settings


def is_remote(args: argparse.Namespace) -> bool:
    """Return whether a command is about a runtime of a control plane."""
    return any(getattr(args, name, None) for name in ("remote", "skr_kubeconfig", "skr_context"))


def refuse_unused_options(args: argparse.Namespace) -> None:
    """Raise UsageError for options of the control plane in a command on one cluster, which would not use them."""
    if not hasattr(args, "remote") or args.remote is not None or getattr(args, "fleet", False) or is_remote(args):
        return
    for name in ("kcp_kubeconfig", "kcp_context"):
        if getattr(args, name, None):
            option = f"--{name.replace('_', '-')}"
            raise UsageError(
                f"{option} needs --remote",
                hint=f"name a runtime with --remote, or use --{name.removeprefix('kcp_')} for one cluster",
            )


def open_configured_pair(
    args: argparse.Namespace, runtime: str = "", *, read_only: bool = False, elsewhere: bool = False, once: bool = False
) -> PairSession:
    """Open the session with both sides of the chosen runtime; it gives the runtime up after ten seconds.

    `elsewhere` says that --namespace is one of the runtime, and not that of the control plane's Kymas; `once`, that
    nobody waits for a change of what is listed.
    """
    from kymatui.sessions.control_plane.pair_session import open_pair

    options, _ = remote_options_of(args, runtime, read_only=read_only)
    control = replace(options.control, once=once, namespace="" if elsewhere else options.control.namespace)
    return open_pair(replace(options, control=control))
