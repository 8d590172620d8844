"""Versions of a module: where each is available, the changes up to it, and the facts of its component."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from kymatui.actions.components.component_facts import ShownComponent, component_facts
from kymatui.actions.modules.version_content import VersionReport
from kymatui.domain.catalog.rows import ModuleRow, Offer, newest_first
from kymatui.domain.kubernetes.terminal_text import format_count, sanitize
from kymatui.domain.modules.state_checks import ModuleSignature, SignatureStatus
from kymatui.domain.versions.version_diff import ChangeKind
from kymatui.lists.catalog_cells import SIGNATURE_TONES
from kymatui.lists.columns import ABSENT, Cell, Column, cells_of
from kymatui.lists.module import VERSION_COLUMNS, OfferEntry
from kymatui.ui.viewmodels.display_text import Fact
from kymatui.ui.viewmodels.row_list import Row
from kymatui.ui.viewmodels.row_list import Row as Line

MOST_CHANGES: Final = 200
"""Lines of a section that are drawn."""
UNKNOWN = Fact("", "one of the two templates no longer exists in the cluster", "muted")


def offer_lines(module: ModuleRow, base: str = "") -> list[Line]:
    """Return the versions, newest first; mark the installed, the desired and the base version."""
    return [_line(module, offer, base) for offer in newest_first(module.offers)]


def base_key(module: ModuleRow) -> str:
    """Return the base of comparisons: the installed version, else the desired, else the newest."""
    offer = module.base_offer
    return offer_key(offer) if offer is not None else ""


def offer_key(offer: Offer) -> str:
    return offer.template.path


def _line(module: ModuleRow, offer: Offer, base: str) -> Line:
    entry = OfferEntry(module, offer, is_base=offer_key(offer) == base)
    return Line(offer_key(offer), cells_of(VERSION_COLUMNS, entry))


def change_facts(report: VersionReport, *, reading: bool = False) -> list[Fact]:
    """Return the changes from the base to the version under the cursor, affected objects first."""
    templates = report.templates
    if templates.before == templates.after:
        return [Fact("", "the version to compare with", "muted")]
    far = f" ({templates.distance})" if templates.distance else ""
    facts = [Fact("from", f"{sanitize(templates.before)} to {sanitize(templates.after)}{far}", "strong")]
    if templates.downgrade:
        facts.append(Fact("", "a downgrade, which is refused where the Kyma requests the module", "warning"))
    if reading:
        facts.append(Fact("manifests", "loading", "muted"))
    facts += [Fact("not read", reason, "warning") for reason in report.unread]
    facts += [
        Fact(
            "affected",
            sanitize(f"{affected.crd} {affected.what}".rstrip() + f": {affected.label}: {affected.message}"),
            "error",
        )
        for affected in report.affected
    ]
    for name, changes in report.sections.items():
        facts.append(Fact(str(name), format_count(len(changes), "difference"), "strong"))
        facts += [
            Fact(str(change.kind), sanitize(change.line), _TONES[change.kind]) for change in changes[:MOST_CHANGES]
        ]
        if len(changes) > MOST_CHANGES:
            facts.append(Fact("", f"… and {len(changes) - MOST_CHANGES} more; `kymatui versions` prints all", "muted"))
    if not report.sections and not report.unread and not reading:
        facts.append(Fact("", "they differ only in the version", "muted"))
    return facts


_TONES = {ChangeKind.ADDED: "ready", ChangeKind.REMOVED: "error", ChangeKind.CHANGED: "warning"}


COLUMNS: tuple[Column, ...] = (
    Column("name", "RESOURCE", 24, flex=2),
    Column("type", "TYPE", 16, flex=1, priority=2),
    Column("version", "VERSION", 10, priority=3),
    Column("size", "SIZE", 8, priority=4, right=True),
    Column("place", "BLOB OR IMAGE", 24, flex=4, priority=1, wraps=True),
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
