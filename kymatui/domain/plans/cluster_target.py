"""The cluster that a plan or question is about: a plan's first line and the name in questions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from kymatui.domain.kubernetes.terminal_text import format_count, sanitize


class ClusterName(Struct, frozen=True):
    """A cluster as files of this machine name it; the identity is the uid of kube-system, "" if unknown.

    `control` is the identity of a runtime's control plane: the runtime itself may be unreachable.
    """

    name: str
    identity: str = ""
    control: str = ""

    def differs_from(self, own: ClusterName) -> str:
        """Return which other cluster this is, "" if it is the same as `own`, or if that is unknown.

        Identities decide, and names only where one of them is unknown: contexts are renamed, and clusters replaced.
        """
        if self.identity and own.identity:
            same, again = self.identity == own.identity, self.name == own.name
            return "" if same else f"another cluster that is also called {own.name}" if again else self.name
        if self.control and own.control and self.control != own.control:
            return f"a runtime of another control plane that is also called {own.name}"
        return self.name if self.name not in ("", own.name) else ""

    def is_runtime_of(self, control_plane: ClusterName) -> bool:
        """Return whether this is a runtime of a control plane; the name decides only where an identity is unknown."""
        if self.control and control_plane.identity:
            return self.control == control_plane.identity
        return self.name.startswith(f"{control_plane.name}/")

    @property
    def runtime(self) -> str:
        """Return the namespace and name of a runtime."""
        return "/".join(self.name.split("/")[-2:])


ALL_CONTEXTS: Final = ClusterName("several contexts", "contexts")
"""What journals name in the place of one cluster for jobs on many contexts."""
_NAMED: Final = 5  # contexts that a question names; more are counted


class ClusterTarget(Struct, frozen=True):
    """The cluster that a session writes to.

    context     context of the kubeconfig; for a runtime, the control plane's
    server      host and port of the API server, "" without a connection
    namespace   the session's namespace, "" for all
    runtime     namespace/name of a runtime of the context's control plane, "" for the context's own cluster
    control     host and port of the control plane's API server, for a runtime
    kyma        namespace/name of the Kyma that a plan edits, "" for plans of other objects
    user        whom the requests impersonate, "" for the context's own user
    contexts    the contexts of a plan for many, each with its own cluster; () for one cluster
    """

    context: str
    server: str = ""
    namespace: str = ""
    read_only: bool = False
    runtime: str = ""
    control: str = ""
    kyma: str = ""
    user: str = ""
    contexts: tuple[str, ...] = ()

    def of_kyma(self, kymas: Iterable[str]) -> ClusterTarget:
        """Return the target of a plan that edits these Kymas."""
        return replace(self, kyma=", ".join(dict.fromkeys(kymas)))

    @property
    def has_control_plane(self) -> bool:
        """Return whether the modules are those of a runtime, and their Manifests on another cluster."""
        return bool(self.runtime)

    @property
    def access(self) -> str:
        return "read-only" if self.read_only else "read-write"

    @property
    def name(self) -> str:
        """Return the name for questions: `context prod-eu`, `Kyma kyma-system/default of context prod-eu`."""
        if self.contexts[1:]:
            is_short = len(self.contexts) <= _NAMED
            listed = f"contexts {', '.join(self.contexts)}" if is_short else format_count(len(self.contexts), "context")
            return sanitize(listed)
        named = f"Kyma {self.kyma} of " if self.kyma else ""
        named += f"runtime {self.runtime} of " if self.runtime else ""
        return sanitize(f"{named}context {self.context or ''.join(self.contexts)}")

    @property
    def line(self) -> str:
        """Return the first line of every plan, the cluster."""
        if self.contexts:
            return sanitize(f"Clusters: {self.name}{', read-only' if self.read_only else ''}")
        named = f"context {self.context} ({self.control if self.runtime else self.server or 'not connected'})"
        if self.runtime:
            named = f"runtime {self.runtime} ({self.server or 'not connected'}) of {named}"
        where = f"namespace {self.namespace}" if self.namespace else "all namespaces"
        user = f", as {self.user}" if self.user else ""
        return sanitize(f"Cluster: {named}, {where}, {self.access}{user}")

    @property
    def lines(self) -> tuple[str, ...]:
        """Return the lines before the summary of a plan: the cluster, and the Kyma that the plan edits."""
        return (self.line, sanitize(f"Kyma: {self.kyma}")) if self.kyma else (self.line,)

    def question(self, action: str, consequence: str = "") -> str:
        """Return a question such as `Delete nats in context prod-eu? 3 objects, backup saved.`"""
        return f"{action} in {self.name}?" + (f" {consequence}." if consequence else "")

    @property
    def document(self) -> dict[str, str | bool | list[str] | None]:
        """Return the keys that every plan has in JSON."""
        if self.contexts:
            return {"contexts": list(self.contexts), "read_only": self.read_only}
        return {
            "context": self.context,
            "server": self.server or None,
            "namespace": self.namespace or None,
            "read_only": self.read_only,
            "runtime": self.runtime or None,
        }
