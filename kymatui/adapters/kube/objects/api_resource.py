"""Resources that an API server serves (kind, plural, scope, version) and the paths of their requests."""

from __future__ import annotations

from urllib.parse import quote

from msgspec import Struct

from kymatui.domain.kubernetes.refs import GroupVersionKind


class ApiResource(Struct, frozen=True):
    """One resource in one version."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool
    verbs: tuple[str, ...] = ()

    @property
    def gvk(self) -> GroupVersionKind:
        return GroupVersionKind(self.group, self.version, self.kind)

    @property
    def name(self) -> str:
        """Return the full resource name, such as "deployments.apps"; core resources have no group suffix."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def root(self) -> str:
        """Return the path of its group version."""
        return group_path(self.group, self.version)

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """Return the path of the collection (all namespaces or one), of an object, or of a subresource."""
        parts = [self.root]
        if namespace and self.namespaced:
            parts += ["namespaces", quote(namespace, safe="")]
        parts.append(self.plural)
        if name:
            parts.append(quote(name, safe=":"))
        if subresource:
            parts.append(subresource)
        return "/".join(parts)

    def can(self, verb: str) -> bool:
        return verb in self.verbs


def group_path(group: str, version: str) -> str:
    return f"/apis/{group}/{version}" if group else f"/api/{version}"
