"""What the engine asks of the world: a cluster, what is fetched, time. Adapters and tests give it.

Objects are plain dictionaries as the API server has them. Every method that asks a cluster raises the errors of
`kymatui.errors` (ConflictError, ForbiddenError, UnreachableError, …), and CancelledError once `cancel` is set.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import TracebackType
from typing import Any, Final, Protocol, Self

from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef

Object = dict[str, Any]

FIELD_MANAGER: Final = "kymatui"
OPERATOR_FIELD_MANAGER: Final = "kymatui-operator"


@dataclass(frozen=True, slots=True)
class ServedKind:
    """A kind that the cluster serves; `resource` is its plural name, without the group."""

    gvk: GroupVersionKind
    resource: str
    namespaced: bool
    verbs: tuple[str, ...] = ()
    has_status: bool = False


class PatchKind(StrEnum):
    """How a patch is to be read; the values are the media types."""

    JSON = "application/json-patch+json"
    MERGE = "application/merge-patch+json"


class Changes(Protocol):
    """A look at what changes, open from the moment it was made: whoever reads objects after that misses nothing."""

    def wait(self, seconds: float, cancel: threading.Event | None = None) -> frozenset[ObjectRef]:
        """The objects that changed since the last call, as soon as there are any; none after `seconds`.

        Where the server lets nobody watch, it returns early with none: look again at everything.
        """
        ...

    def close(self) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class Cluster(Protocol):
    """One cluster. `read_only` ones raise ReadOnlyError for every write, dry runs included."""

    @property
    def name(self) -> str: ...

    @property
    def read_only(self) -> bool: ...

    def version(self) -> str:
        """The server's version ("v1.34.2"), "" where it does not tell."""
        ...

    def kind(self, gvk: GroupVersionKind) -> ServedKind | None:
        """The kind as it is served, or None. A kind unknown so far is looked for on the server again."""
        ...

    def kinds(self, group: str, kind: str) -> Sequence[ServedKind]:
        """All served versions of a kind, the preferred one first."""
        ...

    def all_kinds(self) -> Sequence[ServedKind]:
        """Every kind, in its preferred version."""
        ...

    def unread_groups(self) -> Sequence[tuple[str, str]]:
        """Groups and versions whose kinds could not be read and are missing from `all_kinds`."""
        ...

    def forget_kinds(self) -> None:
        """Definitions changed: kinds are asked for again."""
        ...

    def get(self, ref: ObjectRef, *, cancel: threading.Event | None = None) -> Object | None:
        """The object, or None where it, or its kind, is not there."""
        ...

    def list(
        self,
        gvk: GroupVersionKind,
        namespace: str = "",
        *,
        labels: str = "",
        whole: bool = False,
        cancel: threading.Event | None = None,
    ) -> list[Object]:
        """All objects of a kind, in one namespace or in all; none where the kind is not served.

        Only with `whole` do their managed fields say which fields these are.
        """
        ...

    def apply(
        self,
        body: Mapping[str, Any],
        *,
        manager: str = FIELD_MANAGER,
        force: bool = False,
        dry_run: bool = False,
        cancel: threading.Event | None = None,
    ) -> Object:
        """Server-side apply. ConflictError tells in `body["details"]["causes"]` which fields others own."""
        ...

    def create(
        self,
        body: Mapping[str, Any],
        *,
        manager: str = FIELD_MANAGER,
        dry_run: bool = False,
        cancel: threading.Event | None = None,
    ) -> Object:
        """Creates an object. ConflictError with the reason AlreadyExists where one of that name is there."""
        ...

    def update(
        self,
        body: Mapping[str, Any],
        *,
        manager: str = FIELD_MANAGER,
        subresource: str = "",
        cancel: threading.Event | None = None,
    ) -> Object:
        """Replaces an object, only if its resourceVersion is still the one in `body`."""
        ...

    def patch(
        self,
        ref: ObjectRef,
        patch: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        kind: PatchKind,
        *,
        manager: str = FIELD_MANAGER,
        subresource: str = "",
        dry_run: bool = False,
        cancel: threading.Event | None = None,
    ) -> Object: ...

    def delete(
        self,
        ref: ObjectRef,
        *,
        uid: str = "",
        resource_version: str = "",
        propagation: str = "Background",
        dry_run: bool = False,
        cancel: threading.Event | None = None,
    ) -> None:
        """Deletes the object, only if it is still the one with that uid. NotFoundError where it is gone already."""
        ...

    def follow(self, kinds: Iterable[tuple[GroupVersionKind, str]]) -> Changes:
        """What changes from now on in objects of these kinds, each in a namespace or ("") in all of them."""
        ...

    def allowed(self, verb: str, gvk: GroupVersionKind, namespace: str = "", name: str = "") -> bool:
        """Whether the user may do this, as the server's access reviews say."""
        ...


class Backup(Protocol):
    """Where objects are saved before they are deleted."""

    def holds(self, uid: str, resource_version: str) -> bool:
        """Whether the object is saved in exactly this state."""
        ...

    def save(self, body: Object) -> None:
        """Saves the object as it is, in place of an earlier state."""
        ...

    @property
    def words(self) -> str:
        """How many objects are saved, and where."""
        ...


class Blobs(Protocol):
    """Where content comes from that is named by its digest, or by an address."""

    def layer(self, repository: str, digest: str, *, insecure: bool = False) -> bytes:
        """A blob of an OCI repository ("reg.example/modules/component"), verified by its digest ("sha256:…")."""
        ...

    def chart(self, reference: str, *, repository: str = "", version: str = "") -> bytes:
        """The archive of a chart: `oci://…`, a URL, or a name in a Helm repository; the newest stable by default."""
        ...

    def chart_versions(self, reference: str, *, repository: str = "") -> tuple[str, ...]:
        """The versions of a chart that a registry (`oci://…`) or a repository offers, in no order."""
        ...

    def url(self, address: str) -> bytes:
        """What stands at an `https://` address; bounded in size and in time."""
        ...


class Clock(Protocol):
    """Time, so that tests need not wait."""

    def now(self) -> float:
        """Seconds since 1970."""
        ...

    def sleep(self, seconds: float, cancel: threading.Event | None = None) -> None:
        """Returns early, and quietly, once `cancel` is set."""
        ...
