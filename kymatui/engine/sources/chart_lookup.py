"""`lookup` of a chart's templates: what it may read, and what of that stays out of errors and plans."""

from __future__ import annotations

import base64
import string
from collections.abc import Callable, Collection
from functools import partial
from typing import Any, Final

from msgspec import Struct

from kymatui.domain.inventories import Inventory, Origin
from kymatui.domain.kubernetes.object_meta import LAST_APPLIED
from kymatui.domain.kubernetes.refs import SECRET, GroupVersionKind, ObjectRef
from kymatui.engine.cluster.ports import Cluster
from kymatui.errors import NotFoundError, RefusedError

Lookup = Callable[[str, str, str, str], dict[str, Any]]
"""A function that returns an object or list by apiVersion, kind, namespace and name, {} for none."""
_LETTERS: Final = (string.ascii_lowercase, string.ascii_uppercase, string.digits)
_ROTATION: Final = str.maketrans(
    "".join(_LETTERS), "".join(letters[len(letters) // 2 :] + letters[: len(letters) // 2] for letters in _LETTERS)
)


def is_secret(api_version: str, kind: str) -> bool:
    gvk = GroupVersionKind.of(api_version, kind)
    return gvk.group == "" and gvk.kind in ("Secret", "SecretList")


class RecordedLookup:
    """The lookups of one rendering; `read` names the objects whose content stays out of errors and plans.

    These are Secrets, and with `all_private` all objects: templates then read with other rights than those of the
    person who sees the errors. `own_kinds` are group and kind of the CRDs in crds/, which have no objects yet.
    """

    def __init__(
        self, lookup: Lookup, own_kinds: Callable[[], Collection[tuple[str, str]]], *, all_private: bool
    ) -> None:
        self._plain = lookup
        self._own_kinds = own_kinds
        self._all_private = all_private
        self.read: dict[str, None] = {}

    def __call__(self, api_version: str, kind: str, namespace: str, name: str) -> dict[str, Any]:
        body = self._lookup(api_version, kind, namespace, name)
        if body and self._is_private(api_version, kind):
            self.read["Secrets" if is_secret(api_version, kind) else "objects"] = None
        return body

    def _lookup(self, api_version: str, kind: str, namespace: str, name: str) -> dict[str, Any]:
        try:
            return self._plain(api_version, kind, namespace, name)
        except NotFoundError:
            group = GroupVersionKind.of(api_version, kind).group
            if (group, kind) in self._own_kinds():  # its CRD is installed before the templates, as by helm
                return {}
            raise

    def alternatives(self) -> tuple[Lookup, ...]:
        """Return lookups with something else in place of what is private, the most like it first.

        A template that checks a value's form fails with the first ones, one that needs the object with the last.
        """
        return (partial(self._altered, _longer), partial(self._altered, _rotated), partial(self._altered, None))

    def _altered(
        self, alter: Callable[[str], str] | None, api_version: str, kind: str, namespace: str, name: str
    ) -> dict[str, Any]:
        if not self._is_private(api_version, kind):
            return self._lookup(api_version, kind, namespace, name)
        if alter is None:
            return {}
        body = self._lookup(api_version, kind, namespace, name)
        items = body.get("items")
        if isinstance(items, list):
            return {**body, "items": [_with_other_values(item, alter) for item in items]}
        return _with_other_values(body, alter) if body else body

    def _is_private(self, api_version: str, kind: str) -> bool:
        return self._all_private or is_secret(api_version, kind)


def _with_other_values(body: dict[str, Any], alter: Callable[[str], str]) -> dict[str, Any]:
    """Return an object of the same form with other values; a Secret with the same metadata."""
    if not is_secret(str(body.get("apiVersion", "v1")), str(body.get("kind", "Secret"))):
        return {key: value if key in ("apiVersion", "kind") else _altered(value, alter) for key, value in body.items()}
    metadata = dict(body.get("metadata") or {})
    annotations = metadata.get("annotations") or {}
    if LAST_APPLIED in annotations:  # it repeats the data
        metadata["annotations"] = {**annotations, LAST_APPLIED: alter(annotations[LAST_APPLIED])}
    data = {key: _altered_base64(value, alter) for key, value in (body.get("data") or {}).items()}
    return {**body, "metadata": metadata, "data": data}


def _altered(value: Any, alter: Callable[[str], str]) -> Any:
    match value:
        case str():
            return alter(value)
        case bool():
            return not value
        case int() | float():
            return value + 1
        case dict():
            return {key: _altered(part, alter) for key, part in value.items()}
        case list():
            return [_altered(part, alter) for part in value]
    return value


def _altered_base64(value: Any, alter: Callable[[str], str]) -> Any:
    try:
        text = base64.b64decode(str(value), validate=True).decode("latin-1")
    except ValueError:
        return alter(str(value))
    return base64.b64encode(alter(text).encode("latin-1")).decode()


def _rotated(text: str) -> str:
    """Return a text of the same form: each letter and digit is another one."""
    return text.translate(_ROTATION)


def _longer(text: str) -> str:
    return f"{text.translate(_ROTATION)}-Qx7"


def cluster_lookup(cluster: Cluster) -> Lookup:
    """Return the lookup of a person: everything that the connection may read.

    Raises NotFoundError for a kind that the cluster does not serve: an empty answer would say that it has no objects.
    """

    def lookup(api_version: str, kind: str, namespace: str, name: str) -> dict[str, Any]:
        gvk = GroupVersionKind.of(api_version, kind)
        if cluster.kind(gvk) is None:
            raise NotFoundError(
                f"a template reads {kind} of {api_version} with lookup, and the cluster does not serve this kind",
                hint="install its CRD first, or ask .Capabilities.APIVersions before lookup",
            )
        if name:
            return cluster.get(ObjectRef(gvk, namespace, name)) or {}
        items = cluster.list(gvk, namespace)
        return {"apiVersion": api_version, "kind": f"{kind}List", "metadata": {}, "items": items} if items else {}

    return lookup


def manifest_lookup(cluster: Cluster, named: Collection[str], read_inventory: Callable[[], Inventory | None]) -> Lookup:
    """Return the lookup of a Manifest's chart: of Secrets, only those of its own release and the `named` ones.

    `named` are NAMESPACE/NAME, or NAMESPACE/* for all of a namespace. Raises RefusedError for another Secret that
    exists: with an empty answer, a chart would create a new password.
    """
    plain = cluster_lookup(cluster)

    def lookup(api_version: str, kind: str, namespace: str, name: str) -> dict[str, Any]:
        if not is_secret(api_version, kind) or f"{namespace}/*" in named or f"{namespace}/{name}" in named:
            return plain(api_version, kind, namespace, name)
        location = f"{namespace}/{name}" if name else f"all Secrets of {namespace}" if namespace else "all Secrets"
        body = plain(api_version, kind, namespace, name) if name else None
        if body == {} or (body is not None and _is_own(read_inventory(), ObjectRef(SECRET, namespace, name))):
            return body
        hint = f"--lookup-secrets {namespace or 'NAMESPACE'}/{name or '*'} allows it"
        raise RefusedError(f"a template reads {location if not name else f'Secret {location}'} with lookup", hint=hint)

    return lookup


def _is_own(inventory: Inventory | None, secret: ObjectRef) -> bool:
    """Return whether the release created a Secret; one that existed before is another's."""
    item = inventory.item(secret) if inventory is not None else None
    return item is not None and not item.adopted


# The location of a chart, which can be asked for other versions, or why there is none.


class ChartLocation(Struct, frozen=True):
    """A chart as `Blobs.chart` takes it: `oci://…` without tag, or its name in a repository."""

    reference: str
    repository: str = ""

    def __str__(self) -> str:
        return f"{self.repository}/{self.reference}" if self.repository else self.reference


def chart_location(origin: Origin) -> ChartLocation | str:
    """Return the location of a chart, or why other versions cannot be found.

    The location has no credentials; those of this machine are used.
    """
    address = origin.address
    if not address or address.startswith("revision "):  # older rollbacks stored no address
        return "its source is not recorded (helm and older versions of kymatui do not record it)"
    if address.startswith("oci://"):
        if "@" in address:
            return f"it is pinned to the digest {address}"
        head, _, name = address.rpartition("/")
        return ChartLocation(f"{head}/{name.partition(':')[0]}")
    if origin.repository and address.startswith(f"{origin.repository}/"):
        return ChartLocation(address.removeprefix(f"{origin.repository}/"), origin.repository)
    if "://" not in address:
        return f"it came from {address}, a path on the machine where it was installed"
    if address.endswith((".tgz", ".tar.gz")):
        return f"it came from {address}, a single archive without other versions"
    return f"it came from {address}, and the repository is not recorded"
