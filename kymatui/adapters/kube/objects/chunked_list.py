"""Paged lists with limits on objects, pages, time and repeated continue tokens."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence

from msgspec import Struct

from kymatui.adapters.http.size_limits import LIST_SECONDS, MOST_EMPTY_PAGES, MOST_OBJECTS, MOST_PAGES
from kymatui.adapters.kube.objects.api_resource import ApiResource
from kymatui.adapters.kube.objects.decoder import Decoder, Object, checked_items
from kymatui.adapters.kube.objects.envelope import FieldError, field_error
from kymatui.adapters.kube.transport.transport import Answer, Request, Transport
from kymatui.errors import OversizedAnswerError, ServerError

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
