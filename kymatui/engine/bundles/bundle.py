"""A bundle: the rendered content of a module, before any comparison with a cluster."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from msgspec import Struct, field

from kymatui.domain.inventories import LAYER, Origin
from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.versions.version_diff import ChangeKind, ValueChange, field_changes
from kymatui.engine.cluster.ports import Object
from kymatui.errors import KymatuiError
from kymatui.helm.rendering.manifests import Hook, sort_hooks

HIDDEN: Final = "(hidden)"
ALL: Final = ""
"""The path of a whole object."""
_SHORTEST: Final = 4  # characters of a value that is replaced in texts; shorter ones are in many words
_MOST_VALUES: Final = 10_000
_INDEX: Final = re.compile(r"\[\d+\]")
_PARENT: Final = re.compile(r"(?:^|[.[])[^.[]*$")  # the last key of a path


class HiddenObject(Struct, frozen=True):
    """The paths of the fields that are hidden, with `[]` for each index; `ALL` for the whole object.

    `maps` are hidden with their keys, because one of these is a value, too.
    """

    kind: str
    name: str
    paths: tuple[str, ...] = ()
    maps: tuple[str, ...] = ()

    def hides(self, path: str) -> bool:
        """Return whether a field has a hidden value, or is within a hidden one or around one."""
        plain = _INDEX.sub("[]", path)
        return any(_is_within(plain, outer) or _is_within(outer, plain) for outer in (*self.paths, *self.maps))

    def value(self, path: str, value: object, word: str) -> object:
        """Return the value of a field with `word` for what is hidden; a list with something hidden is hidden whole."""
        if not self.hides(path):
            return value
        if isinstance(value, Mapping) and not any(_is_within(path, hidden) for hidden in (*self.paths, *self.maps)):
            return {key: self.value(f"{path}.{key}", part, word) for key, part in value.items()}
        return None if value is None else word

    def shown(self, path: str) -> str:
        """Return the part of a path that is displayed."""
        path = _INDEX.sub("[]", path)
        if ALL in (*self.paths, *self.maps):
            return f"{re.split(r'[.[]', path, maxsplit=1)[0]}.{HIDDEN}"
        parent = next((map_path for map_path in self.maps if path.startswith((f"{map_path}.", f"{map_path}["))), None)
        return f"{parent}.{HIDDEN}" if parent is not None else path


class HiddenContent(Struct, frozen=True):
    """The hidden fields of a chart's objects, and the values that they have.

    `objects` are all that were compared; of others, everything is hidden. `notes` are the release's without hidden
    lines.
    """

    objects: tuple[HiddenObject, ...] = ()
    values: tuple[str, ...] = ()
    notes: str = ""

    def find(self, ref: ObjectRef, path: str) -> HiddenObject | None:
        """Return what is hidden of an object if the field has any of it."""
        if not self.objects:
            return None
        kind = _kind(ref)
        alike = [
            hidden for hidden in self.objects if (hidden.kind, hidden.name) == (kind, ref.name)
        ]  # in several namespaces
        paths = tuple(path for hidden in alike for path in hidden.paths) if alike else (ALL,)
        content = HiddenObject(kind, ref.name, paths, tuple(path for hidden in alike for path in hidden.maps))
        return content if content.hides(path) else None

    def text(self, text: str) -> str:
        """Return a text without the hidden values."""
        for value in self.values:
            text = text.replace(value, HIDDEN)
        return text

    def lines(self, text: str, plain: str) -> str:
        """Return a text without the lines that another rendering of it does not have."""
        known = set(plain.splitlines())
        return "\n".join(self.text(line) if line in known else HIDDEN for line in text.splitlines())

    @contextlib.contextmanager
    def concealed(self) -> Iterator[None]:
        """Take the hidden values out of the errors that the block raises."""
        try:
            yield
        except KymatuiError as error:
            if self.values:
                self._conceal(error)
            raise

    def _conceal(self, error: BaseException) -> None:
        """Change the messages of an error and of those that caused it."""
        cause: BaseException | None = error
        for _ in range(10):
            if cause is None:
                return
            cause.args = tuple(self.text(part) if isinstance(part, str) else part for part in cause.args)
            if isinstance(cause, KymatuiError):
                cause.hint = self.text(cause.hint)
            cause = cause.__cause__ or cause.__context__


def compare_renderings(objects: Iterable[Object], plain: Iterable[Object] | None) -> HiddenContent:
    """Return what differs from a rendering with other values; everything where that failed (None)."""
    others = {read_ref(body).key: body for body in plain or ()}
    hidden, values = [], dict[str, None]()
    for body in objects:
        other = others.get(read_ref(body).key)
        changes = list(field_changes(other if other is not None else _bare(body), body))
        for change in changes:
            values |= dict.fromkeys(_leaves(change.after))
        paths = (ALL,) if other is None else tuple(_plain_paths(changes))
        keys = _plain_paths(entry for entry in changes if entry.kind is not ChangeKind.CHANGED)
        maps = tuple(dict.fromkeys(_PARENT.sub("", path) for path in keys))
        hidden.append(HiddenObject(_kind(read_ref(body)), read_ref(body).name, paths, maps))
    longest_first = sorted((value for value in values if len(value) >= _SHORTEST), key=len, reverse=True)
    return HiddenContent(tuple(hidden), tuple(longest_first[:_MOST_VALUES]))


def _plain_paths(changes: Iterable[ValueChange]) -> dict[str, None]:
    return dict.fromkeys(_INDEX.sub("[]", change.path) for change in changes)


def _kind(ref: ObjectRef) -> str:
    return f"{ref.kind.kind}.{ref.kind.group}"


def _is_within(path: str, outer: str) -> bool:
    return outer in (ALL, path) or path.startswith((f"{outer}.", f"{outer}["))


def _bare(body: Object) -> dict[str, Any]:
    """Return what identifies an object, which every text may name."""
    metadata = {key: body["metadata"][key] for key in ("name", "namespace") if key in body["metadata"]}
    return {"apiVersion": body["apiVersion"], "kind": body["kind"], "metadata": metadata}


def _leaves(value: object) -> Iterator[str]:
    """Yield the values within a value, as texts, and the lines of a long one."""
    if isinstance(value, Mapping):
        for part in value.values():
            yield from _leaves(part)
    elif isinstance(value, list):
        for part in value:
            yield from _leaves(part)
    elif value is not None and not isinstance(value, bool):
        yield str(value)
        yield from (line for line in str(value).splitlines() if line != value)


class BundleHook(Struct, frozen=True):
    """A hook of a chart with its object; hooks run in sequence by weight and name."""

    hook: Hook
    body: Object


def hooks_of(hooks: Iterable[BundleHook], event: str) -> list[BundleHook]:
    """Return the hooks of an event ("pre-install", …) in Helm's order."""
    by_hook = {id(hook.hook): hook for hook in hooks}
    return [by_hook[id(hook)] for hook in sort_hooks([hook.hook for hook in by_hook.values()], event)]


class ChartRelease(Struct, frozen=True):
    """The data of a Helm release Secret besides the objects: chart, user's values, manifest, notes."""

    chart: Mapping[str, Any]
    config: Mapping[str, Any]
    manifest: str
    notes: str = ""


class Bundle(Struct, frozen=True):
    """One installation and everything that belongs to it.

    namespace  default namespace of namespaced objects
    objects    in the order of their source, each once
    crds       CRDs that are created if missing and never changed (a chart's `crds/`)
    hooks      hooks of a chart, else empty
    resource   the module's default CR, created by the first installation and never changed by an upgrade
    release    for charts: the data that makes the release readable by helm
    resources  further CRs, treated like `resource`
    notes      notes for the user about the source, one sentence each
    create_namespace  False if the namespace must already exist
    hidden     what of a chart's rendering is displayed to nobody
    """

    name: str
    namespace: str
    origin: Origin
    version: str = ""
    objects: tuple[Object, ...] = ()
    crds: tuple[Object, ...] = ()
    hooks: tuple[BundleHook, ...] = ()
    resource: Object | None = None
    release: ChartRelease | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    resources: tuple[Object, ...] = ()
    create_namespace: bool = True
    hidden: HiddenContent = HiddenContent()

    @property
    def title(self) -> str:
        """Return name and address; of a module's layer, whose address is a digest, and without one name and version."""
        if self.origin.address and self.origin.kind != LAYER:
            return f"{self.name} from {self.origin.address}"
        return f"{self.name} {self.version or self.origin.version}".strip()

    @property
    def defaults(self) -> tuple[Object, ...]:
        """Return all CRs that are created once."""
        return (*((self.resource,) if self.resource is not None else ()), *self.resources)

    @property
    def displayed_notes(self) -> str:
        """Return the notes of a chart's release, "" without any."""
        if self.release is None:
            return ""
        return self.hidden.notes if self.hidden.objects else self.release.notes
