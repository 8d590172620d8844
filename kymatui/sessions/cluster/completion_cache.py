"""Names that a shell completes: kept from the last look at a cluster, and asked for only where nothing is kept.

They come from clusters and kubeconfigs, so they are somebody else's: what is no name is dropped before it is kept, and
once more after it was read.
"""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct, field

from kymatui.json_input import read_json
from kymatui.own_files import read_own, write_own
from kymatui.patterns import deferred

if TYPE_CHECKING:
    from kymatui.domain.snapshot.snapshots import Snapshot

LIFETIME: Final = 86400.0
"""Seconds for which names are offered without asking the cluster for newer ones."""
_NAME: Final = deferred(r"[A-Za-z0-9][A-Za-z0-9._+/-]{0,127}")
_MOST: Final = 10_000  # modules, and versions of one module, that are saved


class CompletionNames(Struct, frozen=True):
    """The modules of a cluster with the versions that are offered of each, and all channels."""

    modules: dict[str, tuple[str, ...]] = field(default_factory=dict)
    channels: tuple[str, ...] = ()


def names_in(snapshot: Snapshot) -> CompletionNames:
    """Return the names in the templates and release metas of a snapshot, and of what kymatui installed."""
    from kymatui.domain.installed import read_installations
    from kymatui.domain.kubernetes.object_meta import MalformedObject
    from kymatui.domain.kyma.module_templates import read_template
    from kymatui.domain.kyma.template_index import read_release_meta

    modules: dict[str, set[str]] = {}
    channels: set[str] = set()
    for raw in (*snapshot.templates, *snapshot.outside):
        template = read_template(raw)
        if not isinstance(template, MalformedObject):
            modules.setdefault(template.module, set()).add(template.version)
            channels.add(template.channel)
    for installation in read_installations(snapshot.inventories, snapshot.releases):
        if installation.is_own:
            modules.setdefault(installation.name, set())
    for raw in snapshot.release_metas:
        meta = read_release_meta(raw)
        if not isinstance(meta, MalformedObject):
            modules.setdefault(meta.module, set())
            channels.update(meta.channels)
    return _clean(modules, channels)


def _clean(modules: dict[str, set[str]], channels: Iterable[str]) -> CompletionNames:
    kept = {name: tuple(_only_names(versions)) for name, versions in modules.items() if _NAME.fullmatch(name)}
    return CompletionNames(dict(sorted(kept.items())[:_MOST]), tuple(_only_names(channels)))


def _only_names(words: Iterable[str]) -> list[str]:
    return sorted(word for word in set(words) if _NAME.fullmatch(word))[:_MOST]


def save_session_names(key: object, snapshot: Snapshot) -> None:
    """Keep what a session saw, where it saw the templates at all."""
    from kymatui.domain.snapshot.snapshots import FeedState
    from kymatui.sessions.feeds.feeds import KYMA_KINDS

    feed = snapshot.feeds.get(KYMA_KINDS[1].feed)
    if feed is not None and feed.state is FeedState.LIVE:
        save_names(key, names_in(snapshot))


def save_names(key: object, names: CompletionNames) -> None:
    """Keep the names of a cluster; a folder that cannot be written is as good as none."""
    if names.modules:
        with contextlib.suppress(OSError):
            write_own(_file(key), msgspec.json.encode(names))


def load_names(key: object, *, now: float | None = None) -> tuple[CompletionNames, bool]:
    """Return the cached names, and whether they are recent enough to use without a request."""

    file = _file(key)
    try:
        age = (time.time() if now is None else now) - file.stat().st_mtime
        document = read_json(read_own(file))
        modules = {str(name): {str(version) for version in versions} for name, versions in document["modules"].items()}
        return _clean(modules, map(str, document["channels"])), age < LIFETIME
    except (OSError, ValueError, TypeError, KeyError, AttributeError):  # a missing or damaged file: ask the cluster
        return CompletionNames(), False


def _file(key: object) -> Path:
    import platformdirs

    digest = hashlib.sha256(repr(key).encode()).hexdigest()[:32]
    return platformdirs.user_cache_path("kymatui") / "names" / f"{digest}.json"


def kubeconfig_contexts(kubeconfig: str = "") -> tuple[str, ...]:
    """Return the contexts of a kubeconfig, by default the usual ones. Raise ConfigurationError."""
    from kymatui.adapters.kube.auth.kubeconfig import read_kubeconfig

    config = read_kubeconfig(kubeconfig)
    return tuple(sorted(config.contexts)) if config is not None else ()
