"""Facts of one module: declared, observed and reported."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kymatui.domain.catalog.rows import Catalog, CheckedResource, ModuleRow
from kymatui.domain.installed import InstallationPhase
from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.object_meta import Condition, read_conditions, read_ref
from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.domain.kyma.module_templates import ModuleLink, module_links
from kymatui.domain.kyma.states import parse_state
from kymatui.domain.snapshot.missing_lists import RowFact
from kymatui.domain.snapshot.snapshots import Object, Snapshot
from kymatui.domain.versions.evidence import Evidence
from kymatui.domain.versions.messages import channel_source_words, drift_words, note_words, refusal_words, source_words
from kymatui.lists.catalog_cells import TONES, format_age, state_cell
from kymatui.lists.columns import ABSENT, SIGNS
from kymatui.moments import format_duration
from kymatui.ui.viewmodels.display_text import Fact


def declared(module: ModuleRow, catalog: Catalog) -> list[Fact]:
    """Return what the Kyma and the catalog declare."""
    kyma = catalog.kyma
    template = module.template
    return [
        Fact("Kyma", sanitize(f"{kyma.ref.namespace}/{kyma.ref.name}") if kyma else _no_kyma(catalog)),
        Fact("channel", module.text(RowFact.CHANNEL, _channel(module))),
        Fact("desired", module.text(RowFact.DESIRED, sanitize(module.desired) or ABSENT)),
        Fact("managed", module.text(RowFact.MANAGED, "yes" if module.managed else "no"), _managed_tone(module)),
        Fact("policy", module.text(RowFact.POLICY, sanitize(module.policy) or ABSENT)),
        Fact("template", sanitize(template.name) if template else ABSENT, "" if template else "muted"),
    ]


def links_of(module: ModuleRow) -> tuple[ModuleLink, ...]:
    """Return the links of the template that describes the module; () where none names one."""
    return module_links(module.shown) if module.shown is not None else ()


def link_facts(links: Iterable[ModuleLink]) -> list[Fact]:
    return [Fact(link.name, link.address, "accent", link.address) for link in links]


def _no_kyma(catalog: Catalog) -> str:
    why = catalog.kyma_unknown
    return "none on this cluster" if why is None else why.gap.value


def _managed_tone(module: ModuleRow) -> str:
    return "" if module.managed else "muted" if RowFact.MANAGED in module.unknown else "unmanaged"


def _channel(module: ModuleRow) -> str:
    if not module.channel:
        return ABSENT
    return f"{sanitize(module.channel)} ({channel_source_words(module.resolution.channel_source)})"


def observed(module: ModuleRow, now: float) -> list[Fact]:
    """Return the running version and objects."""
    ready = module.readiness
    manager = (
        f"{module.manager.kind.kind} {module.manager.namespace}/{module.manager.name}" if module.manager else ABSENT
    )
    return [
        *_recorded(module),
        Fact("presence", module.text(RowFact.STATE, str(module.presence))),
        Fact("installed", sanitize(module.installed_words) or ABSENT),
        Fact("drift", module.text(RowFact.DRIFT, drift_words(module.drift))),
        Fact("newest", module.text(RowFact.NEWEST, sanitize(module.newest) or ABSENT), "muted"),
        Fact("manager", sanitize(manager) if module.manager else module.text(RowFact.STATE, manager)),
        Fact("ready", sanitize(ready.message) if ready else ABSENT, TONES[ready.state] if ready else "muted"),
        Fact("age", format_age(module, now) or ABSENT, "muted"),
    ]


def _recorded(module: ModuleRow) -> list[Fact]:
    """Return who installed it, from where, and how much of it exists, as kymatui or helm recorded it."""
    installation, run = module.installation, module.run
    if installation is None or run is None:
        return []
    kind = installation.source.value if installation.source is not None else "unknown"
    facts = [Fact("installed by", sanitize(module.installed_by))]
    facts.append(Fact("from", sanitize(f"{kind} {installation.address}".rstrip())))
    if run.phase is not InstallationPhase.INSTALLED:
        facts.append(Fact("objects", f"{run.objects} exist" if run.objects is not None else "unknown", "warning"))
    return facts


def reported(module: ModuleRow) -> list[Fact]:
    """Return the state that each source reports, and the state that kymatui derives."""
    reports = module.reports
    fact_groups = (
        ("Kyma", reports.kyma),
        ("Manifest", module.text(RowFact.MANIFEST, reports.manifest)),
        ("module CR", module.text(RowFact.CHECKS, reports.resource)),
    )
    facts = [_report(label, text) for label, text in fact_groups]
    cell = state_cell(module)
    facts.append(_report("manager", reports.manager))
    facts.append(Fact("kymatui", cell.text, cell.tone))
    facts.append(Fact("decided by", source_words(module.state_source), "muted"))
    if reports.disagree:
        facts.append(Fact("", "conflicting states", "warning"))
    return facts


def _report(label: str, text: str) -> Fact:
    tone = _tone(text)
    return Fact(label, f"{SIGNS.get(tone, '')} {sanitize(text)}".strip() if text else ABSENT, tone)


def _tone(text: str) -> str:
    state = parse_state(text) if text else None
    return TONES[state] if state is not None else "muted"


def findings(module: ModuleRow) -> Iterator[Fact]:
    """Yield messages, refusals, notes and problems that explain the row, most important first."""
    tones = {"error": "error", "warning": "warning"}
    for why, facts in _unknown(module).items():
        yield Fact("unknown", sanitize(f"{', '.join(facts)}: {why}"), "muted")
    if blockers := module.reason.blocked_by:
        yield Fact("blocked by", sanitize(", ".join(map(str, blockers))), "warning")
    if module.refusal is not None:
        yield Fact("refused", sanitize(refusal_words(module.refusal)), "warning")
    for label, text in (
        ("Kyma reports", module.reports.kyma_message),
        ("Manifest reports", module.reports.manifest_message),
    ):
        if text:
            yield Fact(label, sanitize(text))
    for note in module.resolution.notes:
        yield Fact("note", sanitize(note_words(note)), "warning")
    for problem in module.other_problems:
        yield Fact(str(problem.severity), sanitize(problem.text), tones.get(str(problem.severity), ""))


def _unknown(module: ModuleRow) -> dict[str, list[str]]:
    """Return the unknown facts by reason."""
    unknown: dict[str, list[str]] = {}
    for fact, why in module.unknown.items():
        unknown.setdefault(str(why), []).append(fact.value)
    return unknown


def manifest_conditions(module: ModuleRow, snapshot: Snapshot, now: float) -> Iterator[Fact]:
    """Yield the Manifest's conditions, wherever it is: on a control plane too."""
    return _conditions((raw for raw in snapshot.manifests if read_ref(raw) == module.manifest), now)


def resource_conditions(module: ModuleRow, snapshot: Snapshot, now: float) -> Iterator[Fact]:
    """Yield the conditions of the module CR; of several CRs, the one in the worst state."""
    worst = module.checked[0].resource if module.checked else None
    raws = snapshot.module_resources.get(worst.kind, ()) if worst is not None else ()
    return _conditions((raw for raw in raws if read_ref(raw) == worst), now)


def _conditions(raws: Iterable[Object], now: float) -> Iterator[Fact]:
    for raw in raws:
        for condition in read_conditions(JsonReader(raw).child("status")):
            since = format_duration(now - condition.since) if condition.since is not None else ""
            words = (condition.status, condition.reason, since, condition.message)
            yield Fact(
                sanitize(condition.type),
                sanitize("  ".join(filter(None, words))),
                "warning" if _is_bad(condition) else "",
            )


def _is_bad(condition: Condition) -> bool:
    """Return whether the condition is bad; only where its name is unambiguous."""
    return condition.type in ("Ready", "Installation", "Available") and condition.status != "True"


def resources(module: ModuleRow) -> Iterator[Fact]:
    """Yield the manager and its Pod if they fail, then every CR of the module, worst first."""
    about, ready = module.reason.about, module.readiness
    if ready is not None and not ready.ready and ready.ref is not None:
        if about is not None and (about.kind.group, about.kind.kind) == ("", "Pod"):
            yield Fact(sanitize(str(about)), sanitize(module.reason.cause), TONES[ready.state])
        yield Fact(sanitize(str(ready.ref)), sanitize(ready.message), TONES[ready.state])
    for checked in module.checked:
        yield Fact(sanitize(str(checked.resource)), _resource(checked), TONES[checked.klm.state])


def _resource(checked: CheckedResource) -> str:
    tone = TONES[checked.klm.state]
    text = f"{SIGNS.get(tone, '')} {checked.klm.state}"
    if checked.differs:
        text += f" (strict: {checked.strict.state})"
    if checked.deleting:
        held = ", ".join(checked.finalizers)
        text += f", being deleted{f' (finalizers: {held})' if held else ''}"
    return sanitize(f"{text}  {checked.message}".rstrip())


def evidence(module: ModuleRow) -> Iterator[Fact]:
    """Yield the evidence for the running version, most trusted first."""
    for item in module.evidence:
        yield Fact(str(item.source), sanitize(_evidence(item)), "warning" if item.disproved else "")


def _evidence(item: Evidence) -> str:
    text = item.version or ABSENT
    if item.text and item.text != item.version:
        text += f"  ({item.text})"
    where = f"  {item.where}" if item.where else ""
    return f"{text}{where}{'  (contradicts the raw manifest)' if item.disproved else ''}"
