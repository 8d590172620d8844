"""GET of objects, list pages and watches, in the negotiated form."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from kymatui.helm.yaml.writing import dump_yaml
from kymatui.sandbox.apimachinery.clock import SandboxClock
from kymatui.sandbox.apimachinery.exchange import ServerRequest, ServerResponse
from kymatui.sandbox.apimachinery.object_store import Key, ObjectStore, Stored, VersionTooOldError, type_prefix
from kymatui.sandbox.apimachinery.statuses import StatusError, bad_request, expired, failure, not_found
from kymatui.sandbox.apiserver.encoding.content_negotiation import YAML, AcceptedForm, negotiate
from kymatui.sandbox.apiserver.reads.watch_streams import WatchParts, WatchStream, WatchStreams
from kymatui.sandbox.apiserver.requests.request_info import RequestInfo
from kymatui.sandbox.apiserver.requests.request_options import (
    ListOptions,
    bad_list_version,
    bad_watch_version,
    list_options,
)
from kymatui.sandbox.apiserver.requests.selector_parsers import (
    FieldTerm,
    SelectorError,
    check_field,
    field_value,
    parse_field_selector,
    parse_label_selector,
)
from kymatui.sandbox.apiserver.resources.resource import Object, ServedResource

_INCLUDES = ("", "None", "Metadata", "Object")


class ObjectReader(Struct):
    """Serves the stored objects."""

    store: ObjectStore
    clock: SandboxClock
    watches: WatchStreams

    # -- one object

    def get(self, request: ServerRequest, info: RequestInfo, resource: ServedResource) -> ServerResponse:
        accepted = negotiate(request, custom=resource.custom)
        version = request.first("resourceVersion")
        if version and bad_watch_version(version) > self.store.version:
            raise too_large_version(int(version), self.store.version)
        stored = self.require(resource, info.namespace if resource.namespaced else "", info.name)
        return self.answer(request, resource, stored, accepted)

    def require(self, resource: ServedResource, namespace: str, name: str) -> Stored:
        stored = self.store.get(resource.full_name, namespace, name)
        if stored is None:
            raise not_found(resource.full_name, name)
        return stored

    def answer(
        self,
        request: ServerRequest,
        resource: ServedResource,
        stored: Stored,
        accepted: AcceptedForm,
        status: int = 200,
    ) -> ServerResponse:
        """Return a stored object in the negotiated form."""
        if accepted.as_kind in ("", None) and not accepted.pretty and accepted.media_type != YAML:
            return ServerResponse(status, resource.prefix + resource.data(stored)[1:])
        return self.answer_object(request, resource, self.object(resource, stored), accepted, status)

    def object(self, resource: ServedResource, stored: Stored) -> Object:
        """Return a stored object as a new dict with `kind` and `apiVersion`."""
        obj: Object = msgspec.json.decode(resource.prefix + resource.data(stored)[1:])
        return obj

    def answer_object(
        self, request: ServerRequest, resource: ServedResource, obj: Object, accepted: AcceptedForm, status: int = 200
    ) -> ServerResponse:
        """Return an object in the negotiated form, stored or not (a dry run)."""
        value: Any = obj
        if accepted.as_kind == "Table":
            value = self._table(request, resource, [obj], obj["metadata"].get("resourceVersion", ""), accepted)
        elif accepted.as_kind == "PartialObjectMetadata":
            value = partial(obj, accepted.as_version)
        elif accepted.as_kind == "PartialObjectMetadataList":
            raise _not_a_list(resource)
        return encode(value, accepted, status)

    # -- lists

    def list_objects(self, request: ServerRequest, info: RequestInfo, resource: ServedResource) -> ServerResponse:
        accepted = negotiate(request, listing=True, custom=resource.custom)
        options = list_options(request)
        namespace = (info.namespace or None) if resource.namespaced else None
        selector = parse_selectors(resource, options.labels, options.fields)
        if options.watch:
            return self._watch(request, resource, namespace, selector, options, accepted)
        if accepted.as_kind == "PartialObjectMetadata":
            raise _not_an_object(resource)
        page = self._page(resource, namespace, selector, options)
        return self.list_answer(request, resource, page, accepted)

    def select(self, info: RequestInfo, resource: ServedResource, options: ListOptions) -> ObjectPage:
        """Return the page of objects that a deletecollection selects."""
        namespace = (info.namespace or None) if resource.namespaced else None
        return self._page(resource, namespace, parse_selectors(resource, options.labels, options.fields), options)

    def _page(
        self, resource: ServedResource, namespace: str | None, selector: ObjectSelector, options: ListOptions
    ) -> ObjectPage:
        position = self._position(resource, namespace, options)
        shown = self.store.version if position.version == INCONSISTENT else position.version
        after = position.after if options.continue_token else None
        try:
            at = None if shown >= self.store.version else shown
            selection = self.store.select(resource.full_name, namespace, after, at)
        except VersionTooOldError:
            if options.continue_token:
                raise too_old(position, namespace) from None
            raise expired("The resourceVersion for the provided list is too old.") from None
        limit = max(0, options.limit)
        if selector.everything:
            keys = selection.keys
            items = list(selection) if not limit else [*selection.first(limit)]
            remaining = len(keys) - len(items)
            return self._cut(namespace, items, shown, remaining if limit else 0, more=remaining > 0)
        page: list[Stored] = []
        for index, stored in enumerate(selection, 1):
            if selector.matches(stored):
                page.append(stored)
                if len(page) == limit:
                    # Do not test whether the remaining objects match: a token may lead to an empty page, as on a real
                    # server.
                    return self._cut(namespace, page, shown, 0, more=index < len(selection.keys))
        return ObjectPage(page, shown, "", 0)

    def _position(self, resource: ServedResource, namespace: str | None, options: ListOptions) -> ContinuePosition:
        """Return the start and version of the page."""
        if options.continue_token:
            position = decode_position(options.continue_token, namespace, namespaced=resource.namespaced)
            if options.version not in ("", "0"):
                raise bad_request("specifying resource version is not allowed when using continue")
            return position
        version = bad_list_version(options.version) if options.version else 0
        if version > self.store.version:
            raise too_large_version(version, self.store.version)
        exact = options.version_match == "Exact" or (options.limit > 0 and not options.version_match)
        return ContinuePosition(("", ""), version if version and exact else INCONSISTENT)

    def _cut(
        self, namespace: str | None, items: list[Stored], version: int, remaining: int, *, more: bool
    ) -> ObjectPage:
        if not more or not items:
            return ObjectPage(items, version, "", 0)
        token = encode_position(ContinuePosition(items[-1].key, version), namespace)
        return ObjectPage(items, version, token, remaining)

    def list_answer(
        self, request: ServerRequest, resource: ServedResource, page: ObjectPage, accepted: AcceptedForm
    ) -> ServerResponse:
        metadata = page.metadata(always_continue=resource.custom and not accepted.as_kind)
        if accepted.as_kind == "Table":
            objects = [self.object(resource, stored) for stored in page.items]
            table = self._table(request, resource, objects, str(page.version), accepted)
            table["metadata"] = metadata
            return encode(table, accepted)
        if accepted.as_kind:
            items = [partial(self.object(resource, stored), accepted.as_version) for stored in page.items]
            head = {"kind": accepted.as_kind, "apiVersion": f"meta.k8s.io/{accepted.as_version}"}
            return encode({**head, "metadata": metadata, "items": items}, accepted)
        prefix = resource.prefix if resource.custom else b"{"
        texts = [prefix + resource.data(stored)[1:] for stored in page.items]
        body = (
            type_prefix(resource.api_version, resource.list_kind or resource.kind + "List")
            + b'"metadata":'
            + msgspec.json.encode(metadata)
            + b',"items":['
            + b",".join(texts)
            + b"]}"
        )
        if accepted.pretty or accepted.media_type == YAML:
            return encode(msgspec.json.decode(body), accepted)
        return ServerResponse(200, body)

    def _table(
        self,
        request: ServerRequest,
        resource: ServedResource,
        objects: Sequence[Object],
        version: str,
        accepted: AcceptedForm,
    ) -> Object:
        include = request.first("includeObject")
        if include not in _INCLUDES:
            raise bad_request(
                f'Unable to convert to Table as requested: includeObject: Invalid value: "{include}": '
                "must be 'Metadata', 'Object', 'None', or empty"
            )
        now = self.clock.now()
        rows = []
        for obj in objects:
            row: Object = {"cells": resource.semantics.cells(obj, now)}
            if include == "Object":
                row["object"] = obj
            else:
                row["object"] = None if include == "None" else partial(obj, accepted.as_version)
            rows.append(row)
        return {
            "kind": "Table",
            "apiVersion": f"meta.k8s.io/{accepted.as_version}",
            "metadata": {"resourceVersion": version},
            "columnDefinitions": resource.semantics.columns(),
            "rows": rows,
        }

    # -- watches

    def _watch(
        self,
        request: ServerRequest,
        resource: ServedResource,
        namespace: str | None,
        selector: ObjectSelector,
        options: ListOptions,
        accepted: AcceptedForm,
    ) -> ServerResponse:
        if accepted.media_type == YAML:
            raise failure(406, "NotAcceptable", "only the following media types are accepted: application/json")
        parts = WatchParts(
            resource.full_name,
            namespace,
            selector.matches,
            _EventObjects(self, request, resource, accepted).encode,
            lambda version, end: _bookmark(resource, accepted, version, initial_end=end),
            options,
        )
        return ServerResponse(200, stream=WatchStream(self.store, self.clock, self.watches, parts))

    def table_event(
        self, request: ServerRequest, resource: ServedResource, obj: Object, accepted: AcceptedForm, *, first: bool
    ) -> Object:
        """Return the Table of a watch event; only the first event names the columns."""
        table = self._table(request, resource, [obj], obj["metadata"]["resourceVersion"], accepted)
        if not first:
            table["columnDefinitions"] = None
        return table


class ObjectPage(Struct, frozen=True):
    """A page of a list; `token` is "" on the last page, `remaining` 0 if unknown."""

    items: list[Stored]
    version: int
    token: str
    remaining: int

    def metadata(self, *, always_continue: bool = False) -> Object:
        """Return the ListMeta; lists of custom resources also have an empty `continue`."""
        metadata: Object = {"resourceVersion": str(self.version)}
        if always_continue:
            metadata["continue"] = ""
        if self.token:
            metadata["continue"] = self.token
            if self.remaining:
                metadata["remainingItemCount"] = self.remaining
        return metadata


class _EventObjects:
    """Encodes the objects of one watch."""

    def __init__(
        self, reader: ObjectReader, request: ServerRequest, resource: ServedResource, accepted: AcceptedForm
    ) -> None:
        self._reader = reader
        self._request = request
        self._resource = resource
        self._accepted = accepted
        self._first = True

    def encode(self, stored: Stored, version: int) -> bytes:
        resource, accepted = self._resource, self._accepted
        if not accepted.as_kind and stored.version == version:
            return resource.prefix + resource.data(stored)[1:]
        obj = self._reader.object(resource, stored)
        obj["metadata"]["resourceVersion"] = str(version)
        if accepted.as_kind == "Table":
            obj = self._reader.table_event(self._request, resource, obj, accepted, first=self._first)
            self._first = False
        elif accepted.as_kind:
            obj = partial(obj, accepted.as_version)
        return msgspec.json.encode(obj)


def _bookmark(resource: ServedResource, accepted: AcceptedForm, version: int, *, initial_end: bool) -> bytes:
    metadata: Object = {"resourceVersion": str(version)}
    if initial_end:
        metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
    kind, api_version = resource.kind, resource.api_version
    if accepted.as_kind:
        kind, api_version = accepted.as_kind, f"meta.k8s.io/{accepted.as_version}"
    if kind == "Table":
        row = {"cells": [], "object": {**_partial_head(accepted.as_version), "metadata": metadata}}
        return msgspec.json.encode(
            {"kind": kind, "apiVersion": api_version, "metadata": {"resourceVersion": str(version)}, "rows": [row]}
        )
    return msgspec.json.encode({"kind": kind, "apiVersion": api_version, "metadata": metadata})


def _partial_head(version: str) -> Object:
    return {"kind": "PartialObjectMetadata", "apiVersion": f"meta.k8s.io/{version}"}


def partial(obj: Object, version: str) -> Object:
    """Return the PartialObjectMetadata of an object."""
    return {**_partial_head(version), "metadata": obj.get("metadata", {})}


def encode(value: Any, accepted: AcceptedForm, status: int = 200) -> ServerResponse:
    """Return an answer in the negotiated media type."""
    if accepted.media_type == YAML:
        return ServerResponse(status, dump_yaml(value).encode(), YAML)
    if accepted.pretty:
        return ServerResponse(status, json.dumps(value, indent=2, ensure_ascii=False).encode())
    return ServerResponse(status, msgspec.json.encode(value))


def too_large_version(version: int, current: int) -> StatusError:
    """Return the 504 for a resource version in the future."""
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    details = {"causes": [cause], "retryAfterSeconds": 1}
    message = f"Timeout: Too large resource version: {version}, current: {current}"
    return failure(504, "Timeout", message, details, headers=[("Retry-After", "1")])


def _internal_name(resource: ServedResource) -> str:
    if resource.custom:
        return "*unstructured.Unstructured"
    return f"*{resource.group.split('.')[0] or 'core'}.{resource.kind}"


def _not_an_object(resource: ServedResource) -> StatusError:
    name = f"{_internal_name(resource)}List"
    message = f"you requested PartialObjectMetadata, but the requested object is a list ({name})"
    return failure(406, "NotAcceptable", message)


def _not_a_list(resource: ServedResource) -> StatusError:
    message = (
        f"you requested PartialObjectMetadataList, but the requested object is not a list ({_internal_name(resource)})"
    )
    return failure(406, "NotAcceptable", message)


# Continue tokens: end position and version of a page (k8s.io/apiserver/pkg/storage/continue.go).


_VERSION = "meta.k8s.io/v1"
_TOO_OLD = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)
INCONSISTENT = -1


class ContinuePosition(Struct, frozen=True):
    """The object after which the next page starts; `version` INCONSISTENT means the current state."""

    after: Key
    version: int


def encode_position(position: ContinuePosition, namespace: str | None) -> str:
    """Return the token; its key is the name in a single namespace, else "namespace/name"."""
    space, name = position.after
    start = name if namespace is not None or not space else f"{space}/{name}"
    value = {"v": _VERSION, "rv": position.version, "start": start + "\0"}
    return base64.urlsafe_b64encode(msgspec.json.encode(value)).rstrip(b"=").decode()


def decode_position(token: str, namespace: str | None, *, namespaced: bool) -> ContinuePosition:
    """Return the position of a token. Raise StatusError 400."""
    try:
        value = msgspec.json.decode(_base64(token))
    except msgspec.DecodeError:
        raise _wrong(_json_complaint(_base64(token))) from None
    if not isinstance(value, dict) or value.get("v") != _VERSION:
        version = value.get("v", "") if isinstance(value, dict) else ""
        raise _wrong(f"server does not recognize this encoded version {version}")
    if not value.get("rv"):
        raise _wrong(f"incorrect encoded start resourceVersion (version {_VERSION})")
    if not value.get("start"):
        raise _wrong(f"empty start key (version {_VERSION})")
    start = str(value["start"]).removesuffix("\0").removeprefix("/")
    if namespace is not None:
        return ContinuePosition((namespace, start), int(value["rv"]))
    space, _, name = start.rpartition("/") if namespaced else ("", "", start)
    return ContinuePosition((space, name), int(value["rv"]))


def too_old(position: ContinuePosition, namespace: str | None) -> StatusError:
    """Return the 410 with a token that continues without consistency."""
    error = expired(_TOO_OLD)
    again = ContinuePosition(position.after, INCONSISTENT)
    error.status["metadata"] = {"continue": encode_position(again, namespace)}
    return error


def _base64(token: str) -> bytes:
    try:
        return base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
        at = next((i for i, char in enumerate(token) if char not in alphabet), len(token))
        raise _wrong(f"illegal base64 data at input byte {at}") from None


def _json_complaint(data: bytes) -> str:
    if not data:
        return "unexpected end of JSON input"
    first = chr(data[0])
    shown = first if data[0] < 0x80 and first.isprintable() else f"\\u{data[0]:04x}"
    return f"invalid character '{shown}' looking for beginning of value"


def _wrong(why: str) -> StatusError:
    return bad_request(f"invalid continue token: continue key is not valid: {why}")


# Selection of objects for lists and watches.


SelectorTest = Callable[[Stored], bool]


class ObjectSelector(Struct, frozen=True):
    """A test for objects; `everything` means that `matches` is always true."""

    everything: bool
    matches: SelectorTest


def parse_selectors(resource: ServedResource, labels: str, fields: str) -> ObjectSelector:
    """Return the selection of labels and fields. Raise StatusError 400."""
    tests: list[SelectorTest] = []
    try:
        if labels.strip():
            tests.append(_label_test(labels))
        if fields:
            tests += _field_tests(resource, parse_field_selector(fields))
    except SelectorError as error:
        raise bad_request(str(error)) from None
    if not tests:
        return ObjectSelector(True, lambda stored: True)
    if len(tests) == 1:
        return ObjectSelector(False, tests[0])
    return ObjectSelector(False, lambda stored: all(test(stored) for test in tests))


def _label_test(text: str) -> SelectorTest:
    selected = parse_label_selector(text)
    return lambda stored: selected(stored.labels)


def _field_tests(resource: ServedResource, terms: Sequence[FieldTerm]) -> list[SelectorTest]:
    tests: list[SelectorTest] = []
    others: list[FieldTerm] = []
    for term in terms:
        check_field(resource.full_name, term.field, resource.selectable_fields, custom=resource.custom)
        if term.field == "metadata.name":
            tests.append(_name_test(term))
        elif term.field == "metadata.namespace":
            tests.append(_namespace_test(term))
        else:
            others.append(term)
    if others:
        tests.append(_body_test(resource.full_name, others))
    return tests


def _name_test(term: FieldTerm) -> SelectorTest:
    return lambda stored: (stored.name == term.value) is term.equal


def _namespace_test(term: FieldTerm) -> SelectorTest:
    return lambda stored: (stored.namespace == term.value) is term.equal


def _body_test(resource: str, terms: Sequence[FieldTerm]) -> SelectorTest:
    def matches(stored: Stored) -> bool:
        body = stored.body()
        return all((field_value(resource, body, term.field) == term.value) is term.equal for term in terms)

    return matches
