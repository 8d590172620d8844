"""Pages of a sorted list by `n` and `last`, with the Link header of the next page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

from kymatui.sandbox.registry.registry_errors import RegistryRefusal


def page(items: Sequence[str], query: Mapping[str, str], path: str) -> tuple[list[str], dict[str, str]]:
    """Return at most `n` items after `last`, and the headers of the page."""
    after = [item for item in items if item > query["last"]] if "last" in query else list(items)
    if "n" not in query:
        return after, {}
    size = _size(query["n"])
    shown = after[:size]
    if not shown or len(shown) == len(after):
        return shown, {}
    following = urlencode({"n": size, "last": shown[-1]})
    return shown, {"Link": f'<{path}?{following}>; rel="next"'}


def _size(text: str) -> int:
    if not text.isdigit():
        raise RegistryRefusal("PAGINATION_NUMBER_INVALID", "invalid number of results requested", detail={"n": text})
    return int(text)
