"""References to kinds and objects."""

from __future__ import annotations

from functools import lru_cache

from msgspec import Struct


class GroupVersionKind(Struct, frozen=True, order=True):
    """A kind as a manifest names it; the core group is ""."""

    group: str
    version: str
    kind: str

    @property
    def api_version(self) -> str:
        """Return `group/version`, or `version` alone for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @classmethod
    def of(cls, api_version: str, kind: str) -> GroupVersionKind:
        """Parse `apiVersion` and `kind`; the group is everything before the last slash."""
        return _kind_of(api_version, kind)

    def __str__(self) -> str:
        return f"{self.kind}.{self.version}.{self.group}" if self.group else f"{self.kind}.{self.version}"


@lru_cache(maxsize=4096)  # a cluster has a few hundred kinds, and every object repeats one
def _kind_of(api_version: str, kind: str) -> GroupVersionKind:
    group, _, version = api_version.rpartition("/")
    return GroupVersionKind(group, version, kind)


ObjectKey = tuple[str, str, str, str]
"""Group, kind, namespace and name."""


class ObjectRef(Struct, frozen=True, order=True):
    """A reference to one object; `namespace` is "" for cluster-scoped kinds."""

    kind: GroupVersionKind
    namespace: str
    name: str

    @property
    def key(self) -> ObjectKey:
        """Return the identity of the object: two versions of a kind are one object."""
        return self.kind.group, self.kind.kind, self.namespace, self.name

    @property
    def path(self) -> str:
        """Return `namespace/name`, or the name alone for cluster-scoped kinds."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    def __str__(self) -> str:
        return f"{self.kind.kind} {self.path}"


def split_name(text: str) -> tuple[str, str]:
    """Return the namespace, "" where it is missing, and the name of `namespace/name`; a context's name has slashes."""
    namespace, slash, name = text.partition("/")
    return (namespace, name) if slash else ("", text)


SECRET = GroupVersionKind("", "v1", "Secret")
CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")
DEPLOYMENT = GroupVersionKind("apps", "v1", "Deployment")
CRD = GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
