"""Versions of a module: where each is available, and the changes up to it."""

from __future__ import annotations

from functools import cmp_to_key

from kymatui.domain.catalog.rows import ModuleRow, Offer
from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.domain.kyma.versions import parse_version, same_version
from kymatui.domain.versions.version_diff import ChangeKind, ValueChange, VersionComparison
from kymatui.ui.presenters.catalog.catalog_rows import ABSENT, version_cell
from kymatui.ui.viewmodels.columns import Column
from kymatui.ui.viewmodels.row_list import Cell
from kymatui.ui.viewmodels.row_list import Row as Line
from kymatui.ui.widgets.fact_list import Fact

COLUMNS = (
    Column("version", "VERSION", 14, flex=1),
    Column("channels", "CHANNELS", 16, flex=2),
    Column("source", "SOURCE", 10, priority=1),
    Column("template", "TEMPLATE", 24, flex=2, priority=2),
    Column("here", "HERE", 24),
)


UNKNOWN = Fact("", "one of the two templates no longer exists in the cluster", "muted")


def offer_lines(module: ModuleRow, base: str = "") -> list[Line]:
    """Return the versions, newest first; mark the installed, the desired and the base version."""
    return [_line(module, offer, base) for offer in _newest_first(module)]


def base_key(module: ModuleRow) -> str:
    """Return the base of comparisons: the installed version, else the desired, else the newest."""
    offers = _newest_first(module)
    for version in (module.installed, module.desired):
        for offer in offers if version else ():
            if same_version(offer.version, version):
                return offer_key(offer)
    return offer_key(offers[0]) if offers else ""


def _newest_first(module: ModuleRow) -> list[Offer]:
    return sorted(module.offers, key=cmp_to_key(_by_version))


def offer_key(offer: Offer) -> str:
    return f"{offer.template.namespace}/{offer.template.name}"


def _by_version(one: Offer, other: Offer) -> int:
    left, right = parse_version(one.version), parse_version(other.version)
    if left is None or right is None:
        return (left is None) - (right is None)
    return (left < right) - (right < left)


def _line(module: ModuleRow, offer: Offer, base: str) -> Line:
    marks = []
    if module.installed and same_version(offer.version, module.installed):
        marks.append("installed")
    if module.desired and same_version(offer.version, module.desired):
        marks.append("desired")
    if offer_key(offer) == base:
        marks.append("base")
    cells = {
        "version": version_cell(offer.version, "strong"),
        "channels": Cell(sanitize(", ".join(offer.channels)) or ABSENT, "" if offer.channels else "muted"),
        "source": Cell(sanitize(offer.source) or str(offer.origin), "muted"),
        "template": Cell(sanitize(offer_key(offer)), "muted"),
        "here": Cell(", ".join(marks), "ready" if "installed" in marks else "accent"),
    }
    return Line(offer_key(offer), cells)


def change_facts(comparison: VersionComparison) -> list[Fact]:
    """Return the changes from the installed (or desired) version to the version under the cursor."""
    if comparison.before == comparison.after:
        return [Fact("", "the version to compare with", "muted")]
    far = f" ({comparison.distance})" if comparison.distance else ""
    facts = [Fact("from", f"{sanitize(comparison.before)} to {sanitize(comparison.after)}{far}", "strong")]
    if comparison.downgrade:
        facts.append(Fact("", "a downgrade, which lifecycle-manager refuses", "warning"))
    facts += [Fact(str(change.kind), _change(change), _TONES[change.kind]) for change in comparison.template]
    facts += [Fact("image", sanitize(f"{i.container}: {i.before} → {i.after}")) for i in comparison.images]
    facts += [Fact(str(o.kind), sanitize(str(o.ref)), _TONES[o.kind]) for o in comparison.objects]
    if len(facts) == 1:
        facts.append(Fact("", "the templates differ only in the version", "muted"))
    return facts


_TONES = {ChangeKind.ADDED: "ready", ChangeKind.REMOVED: "error", ChangeKind.CHANGED: "warning"}


def _change(change: ValueChange) -> str:
    if change.kind is ChangeKind.CHANGED:
        return sanitize(f"{change.path}: {change.before} → {change.after}")
    value = change.after if change.kind is ChangeKind.ADDED else change.before
    return sanitize(f"{change.path}: {value}")
