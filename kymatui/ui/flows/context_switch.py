"""Another context without leaving the program, and the same one again after its kubeconfig changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.errors import ConfigurationError, KymatuiError
from kymatui.ui.connection.cluster_link import ClusterConnection, connection_of
from kymatui.ui.navigation.command_table import unknown_name
from kymatui.ui.viewmodels.display_text import ChoiceOption, Question

if TYPE_CHECKING:
    from kymatui.sessions.contexts import ContextEntry, KubeContexts
    from kymatui.ui.base.screen_app import ScreenApp
    from kymatui.ui.connection.connection_status import ConnectionStatus
    from kymatui.ui.flows.job_controller import ScreenJobs

PREVIOUS = "-"
"""What returns to the context before, as in `cd -`."""
USAGE = "ctx [NAME|-]"
ALL_NAMESPACES = "all"


class OpenContext(Protocol):
    """Replaces the session of the app; `again` keeps what is displayed until the first reading of the new one.

    `only` is the namespace that lists are narrowed to, "" for all.
    """

    def __call__(
        self, connect: Callable[[], Any], connection: ClusterConnection, *, again: bool = False, only: str = ""
    ) -> None: ...


class ContextSwitch:
    """Owner of the open context: `switch` to another one, `reload` after a change on disk.

    Jobs write to the session that they started with. Active ones are stopped first, and that session is closed once
    their current steps have ended.
    """

    def __init__(
        self,
        app: ScreenApp,
        contexts: KubeContexts | None,
        jobs: Callable[[], ScreenJobs],
        open_context: OpenContext,
        restart: Callable[[], None],
        narrowed: Callable[[], None] | None = None,
    ) -> None:
        """Take `restart`, which replaces all screens by a new first one.

        `narrowed` displays the lists of another namespace; None where lists are always read for one namespace.
        """
        self._narrowed = narrowed
        self._app, self._contexts, self._jobs = app, contexts, jobs
        self._open_context, self._restart = open_context, restart
        self._here = ""
        self.previous = ""
        """The context before the open one; "" for the first."""
        self.names: Sequence[str] = ()
        """All contexts as far as they are known, for completion."""

    @property
    def here(self) -> str:
        """Return the open context; "" before it is known."""
        return self._here

    @property
    def kubeconfig(self) -> str:
        """Return the kubeconfig of the command line, "" for the default."""
        return self._contexts.kubeconfig if self._contexts is not None else ""

    async def entries(self) -> Sequence[ContextEntry]:
        """Return all contexts, the recently used first. Raise ConfigurationError."""
        contexts = self._required()
        entries = await self._jobs().in_thread(contexts.listed)
        self.names = [entry.name for entry in entries]
        return entries

    def _required(self) -> KubeContexts:
        if self._contexts is None:
            raise ConfigurationError("this session has no kubeconfig with other contexts")
        return self._contexts

    async def switch(self, name: str) -> None:
        """Close the open context and open another one; leave marks, history and jobs behind."""
        contexts, jobs = self._required(), self._jobs()
        name = self.previous if name == PREVIOUS else name
        if not name:
            self._app.problem(f"no earlier context; type `:{USAGE}`")
            return
        if name == self._here:
            self._app.notify(f"{sanitize(name)} is already open", timeout=3)
            return
        try:
            if name not in (known := [entry.name for entry in await self.entries()]):
                self._app.problem(sanitize(unknown_name("context", name, known, USAGE)))
                return
            await jobs.in_thread(lambda: contexts.check(name))
            if not await jobs.stop(f"Switch to {name} and stop {{}}?"):
                return
            session = await jobs.in_thread(lambda: contexts.open(name))
        except KymatuiError as error:
            raise _with_stay(error, self._here) from error
        self.previous, self._here = self._here, name
        self._app.workers.cancel_group(self._app, "beside")  # what it still reports is about the context before
        self._open_context(lambda: session, connection_of(session))
        self._app.clear_notifications()  # they are about the context before
        self._restart()
        self._app.notify(f"context {sanitize(name)}; `:ctx -` returns to {sanitize(self.previous)}")

    async def arrived(self, connection: ClusterConnection) -> None:
        """Record that a context is open."""
        self._here = connection.context
        if self._contexts is not None:
            contexts, now = self._contexts, self._app.clock()
            await self._jobs().in_thread(lambda: contexts.arrived(connection.context, now))
            await self.entries()

    async def reload(self) -> None:
        """Open the context again if its kubeconfig changed on disk; report what changed."""
        if self._contexts is None or not self._here:
            return
        contexts, jobs, here = self._contexts, self._jobs(), self._here
        try:
            changed = await jobs.in_thread(lambda: contexts.changes(here))
        except KymatuiError as error:
            raise _with_stay(error, here) from error
        if changed and jobs.busy:
            self._app.problem("the kubeconfig changed; close the open question, then press ctrl-r again")
        elif changed:
            jobs.run_flow(self._reconnect(changed))

    async def _reconnect(self, changed: Sequence[str]) -> None:
        contexts, jobs, here = self._required(), self._jobs(), self._here
        if not await jobs.stop("Reconnect with the changed kubeconfig and stop {}?"):
            return
        try:
            session = await jobs.in_thread(contexts.open_again)
        except KymatuiError as error:
            raise _with_stay(error, here) from error
        self._open_context(lambda: session, connection_of(session), again=True, only=self._app.only_namespace)
        self._app.notify(sanitize(f"the kubeconfig changed ({', '.join(changed)}); connecting with it"))

    # namespaces

    @property
    def namespaces(self) -> Sequence[str]:
        """Return the namespaces that modules of the catalog have objects in."""
        catalog = self._app.catalog
        return sorted({name for row in catalog.rows for name in row.namespaces}) if catalog is not None else ()

    async def narrow(self, name: str) -> None:
        """Use one namespace as `--namespace` does, "all" for each, "" to ask.

        The lists on the screen narrow to it; they are read again only where one of them depends on the namespace.
        Active jobs continue with the session that they started with.
        """
        contexts, jobs = self._required(), self._jobs()
        name = name or await self._chosen_namespace()
        if not name:
            return
        namespace = "" if name == ALL_NAMESPACES else name
        narrowed, open_session = self._narrowed, self._app.view.session if not jobs.active else None
        if (
            narrowed is not None
            and open_session is not None
            and await jobs.in_thread(lambda: contexts.narrow(open_session, namespace))
        ):
            self._app.only_namespace = namespace
            narrowed()
            return
        session = await jobs.in_thread(lambda: contexts.open_namespace(namespace))
        self._open_context(lambda: session, connection_of(session), again=True, only=namespace)

    async def _chosen_namespace(self) -> str:
        from kymatui.ui.dialogs.choice_dialog import ChoiceScreen

        names = [ChoiceOption(name, name) for name in self.namespaces]
        options = (ChoiceOption(ALL_NAMESPACES, "all", "every namespace"), *names)
        question = Question("namespace", "namespace", options, self._app.only_namespace or ALL_NAMESPACES)
        chosen = await self._app.push_screen_wait(ChoiceScreen("Namespace", [question]))
        return chosen["namespace"] if chosen is not None else ""

    def way_back(self, connection: ConnectionStatus) -> str:
        """Return how to leave a context that does not answer; "" where it does, or is the first."""
        if not self.previous or not connection.is_offline:
            return ""
        if connection.rejected is not None:
            return sanitize(f"▲ {self._here} rejects your login; `:ctx -` returns to {self.previous}")
        return sanitize(f"▲ {self._here} does not answer; `:ctx -` returns to {self.previous}")


def _with_stay(error: KymatuiError, here: str) -> KymatuiError:
    """Return the error with the context that stays open."""
    error.hint = "; ".join(filter(None, (error.hint, f"{here} stays open" if here else "")))
    return error
