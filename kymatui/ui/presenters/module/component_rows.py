"""A component version: its facts, and its resources as rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from kymatui.actions.components.component_facts import ShownComponent, component_facts
from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.domain.modules.state_checks import ModuleSignature, SignatureStatus
from kymatui.lists.catalog_cells import SIGNATURE_TONES
from kymatui.lists.columns import ABSENT, Cell, Column
from kymatui.ui.viewmodels.display_text import Fact
from kymatui.ui.viewmodels.row_list import Row

COLUMNS: tuple[Column, ...] = (
    Column("name", "RESOURCE", 24, flex=2),
    Column("type", "TYPE", 16, flex=1, priority=2),
    Column("version", "VERSION", 10, priority=3),
    Column("size", "SIZE", 8, priority=4, right=True),
    Column("place", "BLOB OR IMAGE", 24, flex=4, priority=1),
)
MOST_ROWS = 2000  # resources in the table; the descriptor has all of them
_MOST_EACH = 50  # facts of one label, such as references; the descriptor has all of them
_LONGEST = 500  # characters of one fact
_UNVERIFIED = "not verified (no option public_key)"


def facts(shown: ShownComponent, signature: ModuleSignature) -> Iterator[Fact]:
    """Yield what `kymatui bundle show` prints above its table; with the option `public_key` also the verdict."""
    is_verified = signature.status is not SignatureStatus.SIGNED
    listed = component_facts(shown, signature.status.value if is_verified else _UNVERIFIED)
    counts = Counter[str]()
    for label, text in listed:
        counts[label] += 1
        tone = SIGNATURE_TONES[signature.status] if label == "signature" else ""
        if counts[label] <= _MOST_EACH:
            yield Fact(label, sanitize(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"), tone)
    for label, count in counts.items():
        if count > _MOST_EACH:
            yield Fact(label, f"{count - _MOST_EACH} more in the descriptor (y)", "warning")
    if len(shown.resources) > MOST_ROWS:
        yield Fact(
            "resources", f"{MOST_ROWS} of {len(shown.resources)} displayed, all in the descriptor (y)", "warning"
        )
    if signature.why:
        yield Fact("reason", sanitize(signature.why), SIGNATURE_TONES[signature.status])


def resource_rows(shown: ShownComponent) -> list[Row]:
    """Return the first rows in the order of the descriptor; their keys begin with the place there."""
    rows = []
    for number, resource in enumerate(shown.resources[:MOST_ROWS]):
        cells = {
            "name": Cell(sanitize(resource.name), "strong"),
            "type": Cell(sanitize(resource.type), "muted"),
            "version": Cell(sanitize(resource.version) or ABSENT),
            "size": Cell(_size(resource.size), "muted", -1 if resource.size is None else resource.size),
            "place": Cell(sanitize(resource.location)),
        }
        rows.append(Row(f"{number} {resource.name}", cells))
    return rows


def _size(size: int | None) -> str:
    if size is None:
        return ABSENT
    if size < 1024:
        return f"{size} B"
    return f"{size / 1024:.1f} KiB" if size < 1024 * 1024 else f"{size / 1024 / 1024:.1f} MiB"
