"""The catalog of served resources: built-in ones and those of CRDs."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator

from kymatui.sandbox.apiserver.resources.resource import ServedResource

# The order of versions: v2, v1, v1beta2, v1alpha1, then all others by name.
_VERSION = re.compile(r"^v([1-9][0-9]*)(?:(alpha|beta)([1-9][0-9]*))?$")
_STABILITY = {None: 2, "beta": 1, "alpha": 0}


def version_rank(version: str) -> tuple[int, int, int, str]:
    """Return a sort key, best version first, as apimachinery's CompareKubeAwareVersionStrings."""
    match = _VERSION.match(version)
    if match is None:
        return (3, 0, 0, version)
    major, stability, minor = match.groups()
    return (2 - _STABILITY[stability], -int(major), -int(minor or 0), version)


class ResourceCatalog:
    """Resources by group, version and name."""

    def __init__(self, builtin: Iterable[ServedResource], *, kinds: Iterable[tuple[str, str]] = ()) -> None:
        self._builtin = {(r.group, r.version, r.name): r for r in builtin}
        self._custom: dict[str, list[ServedResource]] = {}
        self._found: dict[tuple[str, str, str], ServedResource] = dict(self._builtin)
        self._kinds = {(r.api_version, r.kind) for r in self._builtin.values()} | set(kinds)
        self.changes = 0

    def find(self, group: str, version: str, name: str) -> ServedResource | None:
        return self._found.get((group, version, name))

    def all(self) -> Iterator[ServedResource]:
        """Return the built-in resources in their order, then those of CRDs."""
        return itertools.chain(self._builtin.values(), *self._custom.values())

    def serve(self, definition: str, resources: Iterable[ServedResource]) -> None:
        """Set the resources of a CRD; an empty list removes them."""
        served = list(resources)
        if served:
            self._custom[definition] = served
        else:
            self._custom.pop(definition, None)
        self._found = {
            **self._builtin,
            **{(r.group, r.version, r.name): r for r in itertools.chain(*self._custom.values())},
        }
        self.changes += 1

    def group_versions(self, group: str) -> list[str]:
        """Return the served versions of a group, best first."""
        return sorted({version for g, version, _ in self._found if g == group}, key=version_rank)

    def groups(self) -> list[str]:
        """Return the named groups, built-in ones in their order."""
        return list(dict.fromkeys(resource.group for resource in self.all() if resource.group))

    def of(self, group: str, version: str) -> list[ServedResource]:
        """Return the resources of a group version, sorted by name."""
        resources = [r for (g, v, _), r in self._found.items() if (g, v) == (group, version)]
        return sorted(resources, key=lambda resource: resource.name)

    def is_builtin(self, group: str) -> bool:
        return any(g == group for g, _, _ in self._builtin)

    def is_builtin_version(self, group: str, version: str) -> bool:
        return any((g, v) == (group, version) for g, v, _ in self._builtin)

    def registered(self, api_version: str, kind: str) -> bool:
        """Return whether this is a built-in kind; custom kinds are not part of a server's scheme."""
        return (api_version, kind) in self._kinds

    def preferred(self, full_name: str) -> ServedResource | None:
        """Return a resource by full name, at the best version of its group that has it."""
        name, _, group = full_name.partition(".")
        for version in self.group_versions(group):
            resource = self._found.get((group, version, name))
            if resource is not None:
                return resource
        return None

    def path(self, resource: str, version: str | None = None) -> tuple[str, bool]:
        """Return ("/apis/apps/v1", namespaced) for "deployments.apps". Raise LookupError."""
        name, _, group = resource.partition(".")
        served = self._found.get((group, version, name)) if version else self.preferred(resource)
        if served is None:
            raise LookupError(f"no resource {resource}" + (f" at version {version}" if version else ""))
        prefix = f"/apis/{group}/{served.version}" if group else f"/api/{served.version}"
        return prefix, served.namespaced

    def by_kind(self, api_version: str, kind: str) -> ServedResource | None:
        """Return the resource of a kind, as owner references name it."""
        return next((r for r in self._found.values() if (r.api_version, r.kind) == (api_version, kind)), None)
