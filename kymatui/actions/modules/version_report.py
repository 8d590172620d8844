"""The comparison of two versions of a module: templates, what they install, and who is affected in the cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from msgspec import Struct

from kymatui.actions.modules.version_content import VersionReader
from kymatui.actions.modules.version_impact import Affected, Impact, find_impact
from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.domain.kyma.module_templates import ModuleTemplate
from kymatui.domain.versions.manifest_diff import DiffSection, manifest_sections, object_changes
from kymatui.domain.versions.version_diff import ValueChange, VersionComparison, compare_versions
from kymatui.domain.versions.version_risks import VersionRisk, manifest_risks
from kymatui.engine.cluster.ports import Cluster
from kymatui.errors import KymatuiError

_LINKS: Final = frozenset({"info", "resources"})


class VersionReport(Struct, frozen=True):
    """The differences by section, in the order of display, and the objects in the cluster that they affect.

    `risks` are what cannot be undone, is refused or grants more. `locations` are where the two manifests were read, ""
    where they were not. `unread` says what could not be read, and why: what depends on it is then missing.
    """

    templates: VersionComparison
    sections: Mapping[DiffSection, tuple[ValueChange, ...]]
    affected: tuple[Affected, ...] = ()
    locations: tuple[str, str] = ("", "")
    unread: tuple[str, ...] = ()
    risks: tuple[VersionRisk, ...] = ()


def compare_templates(before: ModuleTemplate, after: ModuleTemplate) -> VersionReport:
    """Compare two versions by their templates alone; nothing is fetched."""
    comparison = compare_versions(before, after)
    sections: dict[DiffSection, list[ValueChange]] = {}
    for change in comparison.template:
        sections.setdefault(_section(change), []).append(change)
    return VersionReport(comparison, _ordered(sections))


def compare_contents(
    reader: VersionReader, connect: Callable[[], Cluster] | None, before: ModuleTemplate, after: ModuleTemplate
) -> VersionReport:
    """Compare two versions by templates and manifests; ask the cluster who is affected, unless `connect` is None.

    What cannot be read is named in the report, never raised.
    """
    plain = compare_templates(before, after)
    if before.ref == after.ref:
        return plain
    old, new = reader.read(before), reader.read(after)
    unread = [*old.unread, *new.unread]
    sections: dict[DiffSection, list[ValueChange]] = {name: list(section) for name, section in plain.sections.items()}
    if not (before.data and after.data):  # else their templates were compared
        sections[DiffSection.DEFAULT_CR] = list(object_changes(old.default_cr, new.default_cr))
    impact = Impact()
    risks: tuple[VersionRisk, ...] = ()
    if old.objects is not None and new.objects is not None:
        try:
            for name, changes in manifest_sections(old.objects, new.objects).items():
                sections.setdefault(name, []).extend(changes)
            risks = manifest_risks(old.objects, new.objects)
            impact = find_impact(connect(), old.objects, new.objects) if connect is not None else impact
        except KymatuiError as error:
            impact = Impact(unread=(f"affected objects: {error}",))
    return VersionReport(
        plain.templates,
        _ordered(sections),
        impact.affected,
        (old.location, new.location),
        tuple(map(sanitize, dict.fromkeys((*unread, *impact.unread)))),
        risks,
    )


def _section(change: ValueChange) -> DiffSection:
    field = change.path.partition(".")[0].partition("[")[0]
    if field == "data":
        return DiffSection.DEFAULT_CR
    return DiffSection.LINKS if field in _LINKS else DiffSection.TEMPLATE


def _ordered(sections: Mapping[DiffSection, list[ValueChange]]) -> dict[DiffSection, tuple[ValueChange, ...]]:
    return {name: tuple(sections[name]) for name in DiffSection if sections.get(name)}
