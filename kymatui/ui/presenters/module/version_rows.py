"""Versions of a module: where each is available, and the changes up to it."""

from __future__ import annotations

from typing import Final

from kymatui.actions.modules.version_report import VersionReport
from kymatui.domain.catalog.rows import ModuleRow, Offer, newest_first
from kymatui.domain.kubernetes.terminal_text import format_count, sanitize
from kymatui.domain.versions.version_diff import ChangeKind
from kymatui.lists.columns import cells_of
from kymatui.lists.module import VERSION_COLUMNS, OfferEntry
from kymatui.ui.viewmodels.display_text import Fact
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
