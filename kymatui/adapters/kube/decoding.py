"""Bytes of lists and watch events into objects, without stalling other threads or stumbling over odd objects."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from kymatui.errors import ServerError

if TYPE_CHECKING:
    import msgspec

Object = dict[str, Any]


class Decoder:
    """Decodes objects by a projection (a TypedDict), or whole; what does not fit the projection is decoded whole."""

    def __init__(self, projection: Any = None) -> None:
        import msgspec

        self._whole = projection is None
        self._items: msgspec.json.Decoder[Any] = msgspec.json.Decoder(_list_of(projection if projection else Object))
        self._one: msgspec.json.Decoder[Any] = msgspec.json.Decoder(projection if projection else Object)
        self._any: msgspec.json.Decoder[Any] = msgspec.json.Decoder(Object)
        self._raw: msgspec.json.Decoder[Any] = msgspec.json.Decoder(_list_of(msgspec.Raw))

    def object(self, body: bytes | msgspec.Raw) -> Object:
        """One object."""
        import msgspec

        try:
            return self._slim(self._one.decode(body))
        except msgspec.ValidationError:
            return self._plain(body)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise _no_json(error) from error

    def page(self, body: bytes) -> tuple[list[Object], dict[str, Any]]:
        """The items of a list and the list's metadata; items without kind get the list's."""
        import msgspec

        try:
            found = self._items.decode(body)
            items = [self._slim(item) for item in found.items or ()]
        except msgspec.ValidationError:
            found = self._odd_page(body)
            items = [self.object(item) for item in found.items or ()]
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise _no_json(error) from error
        kind = found.kind.removesuffix("List")
        for item in items:
            item.setdefault("apiVersion", found.apiVersion)
            item.setdefault("kind", kind)
        return items, found.metadata

    def _odd_page(self, body: bytes) -> Any:
        import msgspec

        try:
            return self._raw.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise _no_json(error) from error

    def _plain(self, body: bytes | msgspec.Raw) -> Object:
        import msgspec

        try:
            return self._slim(self._any.decode(body))
        except msgspec.ValidationError:
            return {}  # JSON, but no object: it is shown as one without a name, and nothing behind it is lost
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise _no_json(error) from error

    def _slim(self, item: Object) -> Object:
        """Of managed fields only who manages: what they own is often half of an object."""
        if self._whole:
            metadata = item.get("metadata")
            managed = metadata.get("managedFields") if isinstance(metadata, dict) else None
            for entry in managed if isinstance(managed, list) else ():
                if isinstance(entry, dict):
                    entry.pop("fieldsV1", None)
        return item


@lru_cache(maxsize=32)
def _list_of_cached(item: Any) -> Any:
    import msgspec

    fields: list[Any] = [
        ("items", list[item] | None, None),
        ("metadata", dict[str, Any], msgspec.field(default_factory=dict)),
        ("apiVersion", str, ""),
        ("kind", str, ""),
    ]
    return msgspec.defstruct("ListOf", fields)


def _list_of(item: Any) -> Any:
    return _list_of_cached(item)


@lru_cache(maxsize=1)
def event_decoder() -> msgspec.json.Decoder[Any]:
    """Of a watch event its type, and the object as it came."""
    import msgspec

    event = msgspec.defstruct("Event", [("type", str), ("object", msgspec.Raw)])
    return msgspec.json.Decoder(event)


def _no_json(error: Exception) -> ServerError:
    return ServerError(
        f"the answer is no JSON of a Kubernetes API server: {error}",
        hint="is the address of the kubeconfig that of the API server, or of a proxy before it?",
    )
