"""Lists in chunks and watch events: decoding blocks no other threads and tolerates malformed objects.

The envelope that every object has (apiVersion, kind and metadata) is checked once, where an answer is read. Later code
may rely on it: `metadata` is an object with a name, label values are strings, owner references and managed fields are
lists of objects. The domain reads the other fields (spec, status) tolerantly.

Memory limits: the lists and watches of a cluster share one budget, all runtimes a second one.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from kymatui.adapters.http.response_body import (
    DEEPEST,
    LIST_SECONDS,
    MOST_EMPTY_PAGES,
    MOST_KEPT,
    MOST_KEPT_GIVEN,
    MOST_KEPT_OF_ALL_GIVEN,
    MOST_OBJECTS,
    MOST_PAGES,
    format_size,
    json_weight,
    row_weight,
)
from kymatui.adapters.kube.objects.api_resource import ApiResource
from kymatui.adapters.kube.transport.transport import Answer, Request, Transport
from kymatui.errors import OversizedAnswerError, ServerError
from kymatui.json_input import levels_of
from kymatui.patterns import deferred
from kymatui.structs import resolved_type

if TYPE_CHECKING:
    from kymatui.adapters.kube.objects.api_resource import ApiResource


class MemoryBudget:
    """Limits the total weight of objects in memory; threads may share it.

    `above` is a parent budget that is charged too.
    """

    def __init__(self, most: int, subject: str = "the server", above: MemoryBudget | None = None) -> None:
        self.kept = 0
        self._most = most
        self._subject = subject
        self._above = above
        self._lock = threading.Lock()

    def take(self, amount: int) -> None:
        """Add an amount, which may be negative. Raise OversizedAnswerError, and add nothing, beyond the limit."""
        with self._lock:
            if amount > 0 and self.kept + amount > self._most:
                raise OversizedAnswerError(
                    f"the objects of {self._subject} take more than {format_size(self._most)} of memory",
                    hint="use a namespace (-n) or a selector to read fewer",
                )
            if self._above is not None:
                self._above.take(amount)
            self.kept += amount


_ALL_GIVEN = MemoryBudget(MOST_KEPT_OF_ALL_GIVEN, "all runtimes")


def open_budget(server: str, *, from_secret: bool) -> MemoryBudget:
    """Return the budget of one cluster; `from_secret` clusters are runtimes whose address comes from a Secret."""
    return MemoryBudget(MOST_KEPT_GIVEN, server, _ALL_GIVEN) if from_secret else MemoryBudget(MOST_KEPT, server)


class BudgetClaim:
    """The share of a budget that one list or store uses; garbage collection of the claim releases it."""

    def __init__(self, ledger: MemoryBudget | None) -> None:
        self._ledger = ledger
        self._held = 0

    def add(self, amount: int) -> None:
        if self._ledger is not None:
            self._ledger.take(amount)
            self._held += amount

    def hold(self, amount: int) -> None:
        """Set the claim to exactly this weight."""
        self.add(amount - self._held)

    def release(self) -> None:
        self.hold(0)

    def __del__(self) -> None:
        self.release()


def weigh(item: Any) -> int:
    """Return the weight of a decoded object."""
    return json_weight(msgspec.json.encode(item))


def weigh_row(item: Any) -> int:
    """Return the weight of a row (a data class, which takes less memory than a dictionary)."""
    try:
        return row_weight(msgspec.json.encode(item))
    except TypeError:  # a field that JSON cannot represent
        return len(repr(item))


def weigh_all(items: Iterable[Any]) -> int:
    return sum(map(weigh, items))


PARTIAL = "PartialObjectMetadata"

_SAID = deferred(r"(?P<said>.*?)(?: - at `(?P<key>key in )?\$(?P<path>.*)`)?", re.DOTALL)
_WORDS = {
    "`str`": "a string",
    "`int`": "a whole number",
    "`float`": "a number",
    "`bool`": "true or false",
    "`object`": "an object",
    "`array`": "a list",
    "`null`": "null",
}


class FieldError(ValueError):
    """A malformed field of an answer; the message begins with its path."""


@lru_cache(maxsize=1)
def _envelope() -> Any:
    owner: Any = msgspec.defstruct(
        "Owner",
        [(name, str, "") for name in ("apiVersion", "kind", "name", "uid")]
        + [(name, bool | None, None) for name in ("controller", "blockOwnerDeletion")],
    )
    manager: Any = msgspec.defstruct(
        "Manager",
        [(name, str, "") for name in ("manager", "operation", "subresource", "apiVersion", "fieldsType")]
        + [("time", str | None, None), ("fieldsV1", dict[str, Any] | None, None)],
    )
    metadata: Any = msgspec.defstruct(
        "Metadata",
        [("name", str)]
        + [(name, str | None, None) for name in ("namespace", "generateName", "uid", "resourceVersion")]
        + [(name, str | None, None) for name in ("creationTimestamp", "deletionTimestamp")]
        + [(name, int | None, None) for name in ("generation", "deletionGracePeriodSeconds")]
        + [(name, dict[str, str] | None, None) for name in ("labels", "annotations")]
        + [
            ("finalizers", list[str] | None, None),
            ("ownerReferences", list[owner] | None, None),
            ("managedFields", list[manager] | None, None),
        ],
    )
    envelope = msgspec.defstruct("Envelope", [("metadata", metadata), ("apiVersion", str, ""), ("kind", str, "")])
    return resolved_type(envelope)


def check_envelope(item: Object, resource: ApiResource, namespace: str = "", name: str = "", where: str = "") -> Object:
    """Return the object without nulls in its metadata. Raise FieldError for a malformed field.

    The object must have the resource's kind and the requested namespace and name.
    """
    try:
        msgspec.convert(item, _envelope())
    except (msgspec.ValidationError, RecursionError) as error:
        raise FieldError(where + msgspec_message(error)) from error
    metadata = item["metadata"]
    for key in [key for key, value in metadata.items() if value is None]:
        del metadata[key]
    _check_fields(metadata.get("managedFields", ()), where)
    expected = {
        "kind": (item.get("kind"), (resource.kind, PARTIAL, None)),
        "metadata.name": (metadata["name"], (name or metadata["name"],)),
        "metadata.namespace": (metadata.get("namespace"), (namespace or metadata.get("namespace"),)),
    }
    if item.get("kind") == resource.kind:
        expected["apiVersion"] = item.get("apiVersion"), (resource.gvk.api_version, None)
    for path, (value, allowed) in expected.items():
        if value not in allowed:
            raise FieldError(f"{where}{path} is {_shown(value)} instead of {_shown(allowed[0])}")
    if not metadata["name"]:
        raise FieldError(f"{where}metadata.name is empty")
    if resource.namespaced and not metadata.get("namespace"):
        raise FieldError(f"{where}metadata.namespace is missing")
    return item


def _check_fields(entries: Any, where: str) -> None:
    """Raise FieldError if a `fieldsV1` is not a tree of objects, which its readers take for granted."""
    for number, entry in enumerate(entries):
        level = [entry.get("fieldsV1") or {}]
        while level:
            below = [value for part in level for value in part.values()]
            if not all(type(value) is dict for value in below):
                raise FieldError(f"{where}metadata.managedFields[{number}].fieldsV1 has values that are not objects")
            level = below


def require_shallow(value: object, request: str, server: str) -> None:
    if levels_of(value) > DEEPEST:
        raise OversizedAnswerError(
            f"the answer of {server} to {request} nests deeper than {DEEPEST} levels", hint="it was not used"
        )


def field_error(error: FieldError, request: str, server: str) -> ServerError:
    """Return the error of an answer with such a field: server, request, path."""
    return ServerError(f"the answer of {server} to {request} cannot be read: {error}")


def msgspec_message(error: Exception) -> str:
    """Return the msgspec message, path first: "metadata.name: expected a string, got a whole number"."""
    match = _SAID.fullmatch(str(error))
    text, path = (match["said"], match["path"] or "") if match else (str(error), "")
    for word, plain in _WORDS.items():
        text = text.replace(word, plain)
    text = text[:1].lower() + text[1:]
    return f"{path.removeprefix('.')}: {text}" if path else text


def _shown(value: object) -> str:
    return repr(value[:80]) if isinstance(value, str) else "missing" if value is None else str(type(value).__name__)


Object = dict[str, Any]


class Decoder:
    """Decodes objects by a projection (a TypedDict) or whole.

    Objects that do not fit the projection are decoded whole.
    """

    def __init__(self, projection: Any = None) -> None:
        self._whole = projection is None
        self._items: msgspec.json.Decoder[Any] = msgspec.json.Decoder(_list_of(projection if projection else Object))
        self._one: msgspec.json.Decoder[Any] = msgspec.json.Decoder(projection if projection else Object)
        self._any: msgspec.json.Decoder[Any] = msgspec.json.Decoder(Object)
        self._raw: msgspec.json.Decoder[Any] = msgspec.json.Decoder(_list_of(msgspec.Raw))

    def object(self, body: bytes | msgspec.Raw) -> Object:
        """Return one object, {} for JSON that is no object. Raise ServerError for invalid JSON."""
        try:
            item = self._slim(_decoded(self._one, body))
        except msgspec.ValidationError:  # a field has another type than expected; the slow way reads it
            item = self._plain(body)
        require_shallow(item, "a request", "the server")
        return item

    def page(self, answer: Answer) -> tuple[list[Object], dict[str, Any]]:
        """Return the items of a list and the list's metadata; items without kind get the list's.

        Raise ServerError if the answer is no list: an answer without `items` is not an empty list.
        """
        try:
            decoded = _decoded(self._items, answer.body)
            items = [self._slim(item) for item in decoded.items or ()]
        except msgspec.ValidationError:
            try:
                decoded = _decoded(self._raw, answer.body)
            except msgspec.ValidationError as error:
                raise field_error(FieldError(msgspec_message(error)), answer.request, answer.server) from error
            items = [self.object(item) for item in decoded.items or ()]
        if decoded.items is msgspec.UNSET or not decoded.kind.endswith("List"):
            flaw = FieldError("items is missing" if decoded.kind.endswith("List") else "kind is not a list")
            raise field_error(flaw, answer.request, answer.server)
        require_shallow(items, answer.request, answer.server)
        kind = decoded.kind.removesuffix("List")
        for item in items:
            item.setdefault("apiVersion", decoded.apiVersion)
            item.setdefault("kind", kind)
        return items, decoded.metadata

    def _plain(self, body: bytes | msgspec.Raw) -> Object:
        try:
            return self._slim(_decoded(self._any, body))
        except msgspec.ValidationError:
            return {}  # JSON but no object: it is displayed as one without a name, and hides no other object

    def _slim(self, item: Object) -> Object:
        """Drop the `fieldsV1` of managed fields, which is often half of an object; keep the managers."""
        if self._whole:
            metadata = item.get("metadata")
            managed = metadata.get("managedFields") if isinstance(metadata, dict) else None
            for entry in managed if isinstance(managed, list) else ():
                if isinstance(entry, dict):
                    entry.pop("fieldsV1", None)
        return item


def read_object(answer: Answer) -> Object:
    """Return the JSON object of an answer. Raise ServerError."""
    try:
        body: Object = _decoded(_any_object(), answer.body)
    except msgspec.ValidationError as error:
        raise field_error(FieldError(msgspec_message(error)), answer.request, answer.server) from error
    require_shallow(body, answer.request, answer.server)
    return body


def read_typed(answer: Answer, kind: Callable[[], Any]) -> Any:
    """Return the answer as the msgspec type that `kind` makes. Raise ServerError naming the bad field."""
    try:
        return _decoded(_typed(kind), answer.body)
    except msgspec.ValidationError as error:
        raise field_error(FieldError(msgspec_message(error)), answer.request, answer.server) from error


def checked(item: Object, answer: Answer, resource: ApiResource, namespace: str = "", name: str = "") -> Object:
    """Return the object if apiVersion, kind and metadata are the requested ones. Raise ServerError."""
    try:
        return check_envelope(item, resource, namespace, name)
    except FieldError as error:
        raise field_error(error, answer.request, answer.server) from error


def checked_items(items: list[Object], answer: Answer, resource: ApiResource, namespace: str = "") -> list[Object]:
    """Check every item of a list as `checked` does; one bad item fails the whole list."""
    try:
        return [
            check_envelope(item, resource, namespace, where=f"items[{number}].") for number, item in enumerate(items)
        ]
    except FieldError as error:
        raise field_error(error, answer.request, answer.server) from error


def _decoded(decoder: msgspec.json.Decoder[Any], body: bytes | msgspec.Raw) -> Any:
    """Raise ServerError for invalid JSON, and ValidationError for JSON of another type."""
    try:
        return decoder.decode(body)
    except msgspec.ValidationError:
        raise
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise no_json(error) from error


@lru_cache(maxsize=32)
def _list_of_cached(item: Any) -> Any:
    fields: list[Any] = [
        ("items", list[item] | None | msgspec.UnsetType, msgspec.UNSET),
        ("metadata", dict[str, Any], msgspec.field(default_factory=dict)),
        ("apiVersion", str, ""),
        ("kind", str, ""),
    ]
    return msgspec.defstruct("ListOf", fields)


def _list_of(item: Any) -> Any:
    return _list_of_cached(item)


@lru_cache(maxsize=8)
def _typed(kind: Callable[[], Any]) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind())


@lru_cache(maxsize=1)
def _any_object() -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(Object)


@lru_cache(maxsize=1)
def event_decoder() -> msgspec.json.Decoder[Any]:
    """Return the decoder of watch events: the type, and the object left undecoded."""
    event = msgspec.defstruct("Event", [("type", str), ("object", msgspec.Raw)])
    return msgspec.json.Decoder(event)


def no_json(error: Exception) -> ServerError:
    return ServerError(
        f"the answer is not JSON of a Kubernetes API server: {error}",
        hint="check that the kubeconfig's server is the API server and not a proxy",
    )


PAGE = 500  # objects of one answer, as kubectl's `--chunk-size`
_SMALLER = 10  # divisor of the page size after a page that is too large


class Page(Struct, frozen=True):
    """A page of a list; `resource_version` is that of the whole list, `remaining` the count left if known."""

    items: list[Object]
    resource_version: str
    token: str = ""
    remaining: int | None = None


class PagedList:
    """One list in progress. With `strict`, an object that cannot be decoded raises ServerError."""

    def __init__(
        self,
        transport: Transport,
        resource: ApiResource,
        namespace: str,
        query: Sequence[tuple[str, str]],
        decoder: Decoder,
        accept: str,
        *,
        strict: bool,
    ) -> None:
        self._transport = transport
        self._resource = resource
        self._namespace = namespace
        self._query = tuple(query)
        self._decoder = decoder
        self._accept = accept
        self._strict = strict
        self._seen: set[int] = set()
        self._objects = self._pages = self._empty = 0
        self._began = time.monotonic()

    def pages(self, limit: int, cancel: threading.Event | None) -> Iterator[Page]:
        token = ""
        while True:
            try:
                page = self._transport.read(self._request(limit, token), self._page, cancel)
            except OversizedAnswerError:  # large objects: the same page again, with fewer of them
                if limit <= 1:
                    raise
                limit = max(1, limit // _SMALLER)
                continue
            self._count(page)
            token = page.token
            yield page
            if not token:
                return

    def _request(self, limit: int, token: str) -> Request:
        query = [*self._query]
        query += [("limit", str(limit))] if limit else []
        query += [("continue", token)] if token else []
        return Request("GET", self._resource.path(self._namespace), query, accept=self._accept)

    def _page(self, answer: Answer) -> Page:
        items, metadata = self._decoder.page(answer)
        if self._strict:
            items = checked_items(items, answer, self._resource, self._namespace)
        version, token = metadata.get("resourceVersion") or "", metadata.get("continue") or ""
        if not (isinstance(version, str) and isinstance(token, str)):
            raise field_error(
                FieldError("metadata.continue or metadata.resourceVersion is not a string"),
                answer.request,
                answer.server,
            )
        remaining = metadata.get("remainingItemCount")
        return Page(items, version, token, remaining if isinstance(remaining, int) else None)

    def _count(self, page: Page) -> None:
        """Raise an error if the list does not end or exceeds the limits."""
        self._pages += 1
        self._objects += len(page.items)
        self._empty = 0 if page.items else self._empty + 1
        known = hash(page.token)
        if page.token and known in self._seen:
            raise ServerError(f"{self._subject} does not end: a continue token was repeated", hint=_NOT_USED)
        self._seen.add(known)
        if page.token and self._empty > MOST_EMPTY_PAGES:
            raise ServerError(f"{self._subject} does not end: {self._empty} pages in a row are empty", hint=_NOT_USED)
        for count, most, what in (
            (self._objects, MOST_OBJECTS, "objects"),
            (self._pages, MOST_PAGES, "pages"),
            (time.monotonic() - self._began, LIST_SECONDS, "seconds"),
        ):
            if count > most:
                raise OversizedAnswerError(f"{self._subject} takes more than {most:,.0f} {what}", hint=_NOT_USED)

    @property
    def _subject(self) -> str:
        return f"the list of {self._resource.name} of {self._transport.connection.endpoint.server}"


_NOT_USED = "it was not used"
