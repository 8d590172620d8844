"""The names that a shell completes: from the cache, or from a cluster that answers within a second."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from kymatui.sessions.cluster.completion_cache import CompletionNames, load_names, names_in

if TYPE_CHECKING:
    from kymatui.sessions.cluster.session_options import SessionOptions

_PATIENCE: Final = 0.8  # seconds, less than the second after which a shell gets no names


def find_names(options: SessionOptions, on_request: Callable[[], None]) -> CompletionNames:
    """Return names for a command line: those that are kept, or else of a cluster that answers within a second.

    `on_request` is called before the first request. Raises KymatuiError where there is no usable kubeconfig.
    """
    from kymatui.adapters.kube.auth.kubeconfig import read_kubeconfig

    config = read_kubeconfig(options.kubeconfig)
    known, young = load_names(config.context(options.context).key) if config is not None else (CompletionNames(), False)
    return known if young else _read_names(options, on_request) or known


def _read_names(options: SessionOptions, on_request: Callable[[], None]) -> CompletionNames | None:
    from kymatui.sessions.cluster.catalog_session import open_session

    with closing(open_session(replace(options, read_only=True, once=True))) as session:
        on_request()
        session.start(lambda: None)
        session.wait_complete(_PATIENCE)
        return names_in(session.snapshot())


def find_runtime_names(options: SessionOptions, on_request: Callable[[], None]) -> tuple[str, ...]:
    """Return the runtimes of a control plane: those that are kept, or else of one that answers within a second.

    `on_request` is called before the first request. Raises KymatuiError where there is no usable kubeconfig, and what
    listing the Kymas raises.
    """
    from kymatui.sessions.cluster.cluster_access import open_cluster
    from kymatui.sessions.control_plane.pair_session import list_runtimes
    from kymatui.sessions.control_plane.runtime_completion import load_runtime_names, save_runtime_names

    with closing(open_cluster(replace(options, read_only=True))) as home:
        known, young = load_runtime_names(home.client)
        if not young:
            on_request()
            save_runtime_names(home.client, list_runtimes(home))
            known, _ = load_runtime_names(home.client)
        return known


def find_module_names(options: SessionOptions, runtime: str, on_request: Callable[[], None]) -> CompletionNames:
    """Return names for a command about a runtime: its own where they are kept, else those of its control plane."""
    from kymatui.adapters.kube.auth.kubeconfig import read_kubeconfig

    config = read_kubeconfig(options.kubeconfig)
    if config is not None:
        known, _ = load_names((runtime.rpartition("/")[2], config.context(options.context).key))
        if known.modules:
            return known
    return find_names(options, on_request)
