"""The contexts of the kubeconfig for the screen: listed with their settings, opened, and compared with the disk."""

from __future__ import annotations

import contextlib
import fnmatch
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from msgspec.structs import replace

from kymatui.adapters.files.context_memory import ContextMemory
from kymatui.errors import ConfigurationError, KymatuiError, UnknownNameError

if TYPE_CHECKING:
    from kymatui.adapters.kube.auth.context_list import ConnectionFacts
    from kymatui.sessions.cluster.session_options import SessionOptions
    from kymatui.settings.config_file import Settings

OpenSession = Callable[["SessionOptions"], Any]
"""Returns a session that is not started, with a single cluster or with a control plane."""


class ContextEntry(Struct, frozen=True):
    """One context; `used` in Unix seconds, 0 for never; `problem` is why it cannot be used.

    `is_current` says that the kubeconfig names it as the current one, `plugin` is the command that logs in.
    """

    name: str
    cluster: str = ""
    user: str = ""
    server: str = ""
    namespace: str = ""
    accent: str = ""
    read_only: bool = False
    is_current: bool = False
    used: float = 0.0
    problem: str = ""
    plugin: str = ""


def list_entries(options: SessionOptions, settings: Settings, used: Mapping[str, float]) -> list[ContextEntry]:
    """Return all contexts by name, with their settings. Raise ConfigurationError."""
    from kymatui.adapters.kube.auth.context_list import list_contexts

    entries = []
    for context in list_contexts(options.kubeconfig):
        own = settings.context(context.name)
        entries.append(
            ContextEntry(
                name=context.name,
                cluster=context.cluster,
                user=context.user,
                server=context.server,
                namespace=context.namespace,
                accent=own.accent,
                read_only=options.read_only or own.read_only,
                is_current=context.is_current,
                used=used.get(context.name, 0.0),
                problem=context.problem,
                plugin=context.plugin,
            )
        )
    return entries


def select_entries(entries: Sequence[ContextEntry], patterns: Sequence[str], settings: Settings) -> list[ContextEntry]:
    """Return the contexts that match any pattern, or are in a group of that name; all without patterns.

    Raise UnknownNameError for a pattern that matches none.
    """
    if not entries:
        raise ConfigurationError("no contexts in the kubeconfig", hint="use --kubeconfig FILE or KUBECONFIG")
    chosen: set[str] = set()
    for pattern in patterns or settings.groups.get(DEFAULT_GROUP, ("*",)):
        names = {entry.name for glob in settings.groups.get(pattern, (pattern,)) for entry in matching(entries, glob)}
        if not names:
            known = [*(entry.name for entry in entries), *settings.groups]
            hint = "`kubectl config get-contexts` lists the contexts; groups are in the configuration file"
            raise UnknownNameError.near("context or group", pattern, known, hint=hint)
        chosen |= names
    return [entry for entry in entries if entry.name in chosen]


def matching(entries: Sequence[ContextEntry], glob: str) -> Iterator[ContextEntry]:
    """Yield the contexts of a name or a pattern such as prod-*; a name with special characters is itself."""
    yield from (entry for entry in entries if entry.name == glob or fnmatch.fnmatchcase(entry.name, glob))


def options_of(options: SessionOptions, entry: ContextEntry) -> SessionOptions:
    """Return the options of a command line for one of its contexts, read-only where its settings say so."""
    own = replace(options.access, user="")
    return replace(options, context=entry.name, namespace="", read_only=entry.read_only, access=own)


DEFAULT_GROUP: Final = "default"
"""The group of the configuration that stands for all contexts."""


class KubeContexts:
    """Contexts that one command line can open.

    Impersonation, and what forbids writing, stay in force in each. A user and a namespace of the command line belong to
    the context that it names.
    """

    def __init__(
        self,
        read_options: Callable[[], SessionOptions],
        settings: Settings,
        open_session: OpenSession,
        *,
        reopen: Callable[[], Any] | None = None,
        context_memory: ContextMemory | None = None,
    ) -> None:
        """Take the options of the command line, which a demo knows once its cluster runs.

        `reopen` opens the first context again, by default as `open_session` does.
        """
        self._given, self._settings, self._open_session = read_options, settings, open_session
        self._reopen = reopen or (lambda: open_session(read_options()))
        self._chosen: SessionOptions | None = None
        self._facts: ConnectionFacts | None = None
        self._name = ""
        self.memory = context_memory or ContextMemory()

    @property
    def kubeconfig(self) -> str:
        """Return the file of the command line, "" for the default."""
        return (self._chosen or self._given()).kubeconfig

    def listed(self) -> tuple[ContextEntry, ...]:
        """Return all contexts, the recently used first. Raise ConfigurationError."""
        entries = list_entries(self._given(), self._settings, self.memory.used())
        return tuple(sorted(entries, key=lambda entry: (-entry.used, entry.name)))

    def check(self, name: str) -> None:
        """Raise ConfigurationError or UnknownNameError where a context cannot be opened; sends nothing."""
        _read_facts(self._options(name), name)

    def open(self, name: str) -> Any:
        """Return a session with another context, not started; it is read-only where its settings say so."""
        chosen = self._options(name)
        session = self._open_session(chosen)
        self._chosen = chosen
        return session

    def open_again(self) -> Any:
        """Return another session with the open context, as the kubeconfig is now."""
        return self._reopen() if self._chosen is None else self._open_session(self._chosen)

    def narrow(self, session: Any, namespace: str) -> bool:
        """Let the open session use a namespace, "" for all, without reading a list again.

        Return False if its lists depend on the namespace, so that another session is needed. Raise UnknownNameError for
        a namespace that does not exist; one that may not be read is not checked.
        """
        chosen = self._in_namespace(namespace)
        _require_namespace(session, namespace)
        if not session.use_namespace(namespace):
            return False
        self._chosen = chosen
        return True

    def open_namespace(self, namespace: str) -> Any:
        """Return another session with the open context in a namespace, as --namespace does; "" for all.

        Raise UnknownNameError for a namespace that does not exist; one that may not be read is not checked.
        """
        chosen = self._in_namespace(namespace)
        session = self._open_session(chosen)
        try:
            _require_namespace(session, namespace)
        except KymatuiError:
            session.close()
            raise
        self._chosen = chosen
        return session

    def _in_namespace(self, namespace: str) -> SessionOptions:
        before = self._chosen or self._given()
        shut = before.read_only or self._settings.context(self._name or before.context).read_only
        return replace(before, namespace=namespace, read_only=shut)

    def arrived(self, name: str, now: float) -> None:
        """Record the use of the open context, and what its connection is made from."""
        self._facts, self._name = None, name
        with contextlib.suppress(KymatuiError):  # such as the service account of a Pod, which no file names
            self._facts = _read_facts(self._chosen or self._given(), name)
        with contextlib.suppress(ConfigurationError):  # the order of a list must not stop the screen
            self.memory.note_use(name, now)

    def changes(self, name: str) -> tuple[str, ...]:
        """Return what changed on disk since `arrived`. Raise ConfigurationError or UnknownNameError."""
        if self._facts is None:
            return ()
        return _read_facts(self._chosen or self._given(), name).changes_since(self._facts)

    def _options(self, name: str) -> SessionOptions:
        options = self._given()
        own = replace(options.access, user="")
        shut = options.read_only or self._settings.context(name).read_only
        return replace(options, context=name, namespace="", read_only=shut, access=own)


def _require_namespace(session: Any, namespace: str) -> None:
    if namespace:
        from kymatui.sessions.cluster.cluster_access import require_namespace

        require_namespace(session.cluster, namespace)


def _read_facts(options: SessionOptions, name: str) -> ConnectionFacts:
    from kymatui.adapters.kube.auth.context_list import connection_facts

    return connection_facts(options.kubeconfig, name, options.access)
