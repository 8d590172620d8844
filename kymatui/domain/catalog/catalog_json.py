"""The documented JSON of a catalog (`kymatui catalog -o json`), and its schema: one table of fields for both."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Generic, TypeVar

from msgspec import Struct

from kymatui.domain.catalog.rows import Catalog, CatalogOrigin, CheckedResource, KymaSummary, ModuleRow, StateReports
from kymatui.domain.installed import InstallationPhase, SourceKind, deletion_command, install_command
from kymatui.domain.kyma.problems import Actor, Advice, AdviceKind, Problem, Severity
from kymatui.domain.kyma.states import State, StateSource
from kymatui.domain.modules.presence import Presence
from kymatui.domain.modules.state_checks import RuleOutcome, RuleResult, SignatureStatus
from kymatui.domain.snapshot.missing_lists import LIST_WORDS, ListGap, RowFact, UnknownFact
from kymatui.domain.snapshot.snapshots import Feed
from kymatui.domain.versions.drift import DriftKind
from kymatui.domain.versions.evidence import VersionSource
from kymatui.domain.versions.resolution import ChannelSource

Schema = dict[str, Any]
T = TypeVar("T")


class JsonField(Struct, Generic[T], frozen=True):
    """One key of an object: its schema, and how it is read."""

    schema: Schema
    read: Callable[[T], Any]


def catalog_to_json(catalog: Catalog) -> dict[str, Any]:
    """Return the documented JSON of a catalog.

    `{"cluster", "kyma", "modules": […], "problems": […], "counts": {…}, "unknown": {…}, "lists": {…}}`. A missing
    version is null. An unknown fact is null too, and `unknown` gives the reason.
    """
    unknown = {
        "kyma": catalog.kyma_unknown,
        "modules": catalog.modules_unknown,
        "problems": catalog.loading,
        "installations": catalog.installations_unknown,
        "releases": catalog.releases_unknown,
    }
    counts = {
        "modules": len(catalog.rows),
        "problems": catalog.problem_count,
        "updates": catalog.update_count,
        "releases": len(catalog.releases),
    }
    missing = {**unknown, "updates": catalog.modules_unknown}
    return {
        "cluster": catalog.cluster,
        "kyma": _read(_KYMA_FIELDS, catalog.kyma) if catalog.kyma is not None else None,
        "modules": [row_json(row) for row in catalog.rows],
        "problems": [problem_json(problem) for problem in catalog.problems],
        "counts": {what: None if missing[what] is not None else count for what, count in counts.items()},
        "unknown": {fact: unknown_json(why) for fact, why in unknown.items() if why is not None},
        "lists": {name: list_json(feed) for name, feed in sorted(catalog.feeds.items())},
    }


def unknown_json(why: UnknownFact) -> dict[str, Any]:
    """Return the JSON for one unknown fact."""
    return {"state": why.gap.value, "lists": list(why.lists), "reason": str(why)}


def actor_json(actor: Actor) -> str | None:
    """Return who acts: null if no action is needed, `unknown` if the lists that tell were not read."""
    return actor.value or None


def list_json(feed: Feed) -> dict[str, Any]:
    """Return the JSON for the status of one list."""
    return {"state": LIST_WORDS[feed.state], "message": feed.message or None}


def row_json(row: ModuleRow) -> dict[str, Any]:
    """Return the JSON of one module, with the documented keys only."""
    return _read(MODULE_FIELDS, row)


def problem_json(problem: Problem) -> dict[str, Any]:
    return _read(_PROBLEM_FIELDS, problem)


def _read(fields: Mapping[str, JsonField[T]], value: T) -> dict[str, Any]:
    return {key: field.read(value) for key, field in fields.items()}


def installation_json(row: ModuleRow) -> dict[str, Any] | None:
    """Return the JSON of what kymatui or helm recorded of an installation, null without a record."""
    installation, run = row.installation, row.run
    if installation is None or run is None:
        return None
    inventory = installation.inventory
    direct = row.origin is CatalogOrigin.KYMA
    ends = run.phase.is_interrupted and installation.is_own
    completes = inventory is not None and run.phase is InstallationPhase.PARTIAL
    return {
        "name": installation.name,
        "namespace": installation.namespace,
        "record": str(installation.record),
        "source": installation.source.value if installation.source is not None else None,
        "address": installation.address or None,
        "version": installation.version or None,
        "state": run.phase.value,
        "helmStatus": installation.status or None,
        "objects": None if run.objects is None else {"planned": run.objects.planned, "existing": run.objects.existing},
        "holder": run.holder or None,
        "install": install_command(inventory, direct=direct) if ends and completes and inventory is not None else None,
        "delete": deletion_command(installation.name, installation.namespace) if ends else None,
    }


def reports_json(reports: StateReports) -> dict[str, Any]:
    """Return the JSON of the state that each source reports."""
    return {
        "kyma": reports.kyma or None,
        "kymaVersion": reports.kyma_version or None,
        "manifest": reports.manifest or None,
        "resource": reports.resource or None,
        "manager": reports.manager or None,
        "disagree": reports.disagree,
    }


def _checks(checked: CheckedResource) -> list[dict[str, Any]]:
    """Return the outcomes of the template's rules; a plain status.state has none."""
    rules = checked.klm.rules if checked.klm.source is StateSource.RULES else ()
    return [_read(_CHECK_FIELDS, (checked, outcome)) for outcome in rules]


# the schema


def catalog_json_schema() -> Schema:
    """Return the schema of the document; absent versions, channels and states are null."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "kymatui catalog",
        **_object(
            cluster=_text("the context's name"),
            kyma=_or_null(_object_of(_KYMA_FIELDS), "the Kyma that the rows are about; null if there is none"),
            modules={"type": "array", "items": _module(), "description": "one entry for each module, by name"},
            problems={
                "type": "array",
                "items": _object_of(_PROBLEM_FIELDS),
                "description": "problems, the worst first",
            },
            counts={"description": "the counts of the screen's top line"}
            | _object(
                modules=_number("number of modules; null if a list that names modules is missing"),
                releases=_number(
                    "number of Helm releases of other tools; `--installed-by all` lists them; null if unknown"
                ),
                updates=_number("number of modules that you can upgrade; null if a list that names modules is missing"),
                problems=_number("number of problems without informational ones; null while lists are loading"),
            ),
            unknown=_unknown(
                ("kyma", "modules", "problems", "installations", "releases"),
                "why part of this document is unknown or incomplete",
            ),
            lists={
                "type": "object",
                "additionalProperties": _list(),
                "description": "state of each list of the cluster, by resource name",
            },
        ),
    }


def _module() -> Schema:
    """Return the schema of a module; `signature` is there with `--signed` only."""
    module_facts = _object_of(MODULE_FIELDS)
    module_facts["properties"]["signature"] = {
        "description": "with --signed: whether its component is signed"
    } | _object(
        status=_word(SignatureStatus, "whether the component is signed, and by the given key"),
        names={"type": "array", "items": {"type": "string"}, "description": "names of its signatures"},
        component=_text("where the descriptor was read, null for one in the ModuleTemplate", null=True),
        reason=_text("why a signature is invalid or unknown", null=True),
    )
    return module_facts


def _installation() -> Schema:
    return _object(
        name=_text("the name it was installed under"),
        namespace=_text("the namespace of its record"),
        record=_text("the ConfigMap of kymatui, or the Secret or ConfigMap of the Helm release"),
        source=_word(SourceKind, "what it was installed from; null if that is not recorded", null=True),
        address=_text("the address that the user named, without passwords", null=True),
        version=_text("the version of the last run", null=True),
        state=_word(InstallationPhase, "how far the last run came"),
        helmStatus=_text("helm's status of a release", null=True),
        objects=_or_null(
            _object(
                planned=_number("objects that the run was to install, or has to delete"),
                existing=_number("those that exist; null if unknown"),
            ),
            "objects of an unfinished run; null for a finished one, or if they are not recorded",
        ),
        holder=_text("the run that works on it now", null=True),
        install=_text("the command that completes an interrupted installation", null=True),
        delete=_text("the command that deletes what an interrupted run left", null=True),
    )


def _object(**properties: Schema) -> Schema:
    """Return an object schema that requires every property and allows no other."""
    return {"type": "object", "additionalProperties": False, "required": list(properties), "properties": properties}


def _object_of(fields: Mapping[str, JsonField[T]]) -> Schema:
    return _object(**{key: field.schema for key, field in fields.items()})


def _text(description: str, *, null: bool = False) -> Schema:
    return {"type": ["string", "null"] if null else "string", "description": description}


def _number(description: str) -> Schema:
    return {"type": ["integer", "null"], "description": description}


def _flag(description: str, *, null: bool = False) -> Schema:
    return {"type": ["boolean", "null"] if null else "boolean", "description": description}


def _unknown(facts: Iterable[str], description: str) -> Schema:
    """Return the schema of an object with an optional key for each unknown fact."""
    why = _object(
        state=_word(
            ListGap, "loading: wait; forbidden: the right to list is missing; unknown: the server did not answer"
        ),
        lists={"type": "array", "items": {"type": "string"}, "description": "resource names of the missing lists"},
        reason=_text("the same in one sentence"),
    )
    properties = dict.fromkeys(facts, why)
    return {"type": "object", "additionalProperties": False, "properties": properties, "description": description}


def _list() -> Schema:
    return _object(
        state=_word(LIST_WORDS.values(), "listed: an object that is missing does not exist; otherwise that is unknown"),
        message=_text("the server's message", null=True),
    )


def _word(words: Iterable[str], description: str, *, null: bool = False) -> Schema:
    known: list[str | None] = [str(word) for word in words]
    return {"enum": [*known, None] if null else known, "description": description}


def _or_null(schema: Schema, description: str) -> Schema:
    return {"anyOf": [schema, {"type": "null"}], "description": description}


# the fields


def _unless(fact: RowFact, read: Callable[[ModuleRow], Any]) -> Callable[[ModuleRow], Any]:
    """Return a reader that has null for an unknown fact."""
    return lambda row: None if fact in row.unknown else read(row)


def advice_fields(read: Callable[[T], Advice | None]) -> dict[str, JsonField[T]]:
    """Return the fields for what a person can do."""

    def text(value: T) -> str | None:
        return advice.text if (advice := read(value)) is not None else None

    def kind(value: T) -> str | None:
        return advice.kind.value if (advice := read(value)) is not None else None

    def command(value: T) -> str | None:
        return (advice.command or None) if (advice := read(value)) is not None else None

    return {
        "advice": JsonField(_text("what to do; null if there is nothing to do", null=True), text),
        "adviceKind": JsonField(_word(AdviceKind, "the advice as a word for programs", null=True), kind),
        "command": JsonField(_text("the command that carries the advice out", null=True), command),
    }


_CHECK_FIELDS: Final[Mapping[str, JsonField[tuple[CheckedResource, RuleOutcome]]]] = {
    "resource": JsonField(_text("kind, namespace and name of the module CR"), lambda check: str(check[0].resource)),
    "path": JsonField(_text("jsonPath of the rule"), lambda check: check[1].rule.path),
    "wanted": JsonField(_text("value of the rule"), lambda check: check[1].rule.value),
    "found": JsonField(
        _text("the value in the CR; null if it has none", null=True),
        lambda check: check[1].value.text if check[1].value.found else None,
    ),
    "result": JsonField(_word(RuleResult, "the result of the rule"), lambda check: check[1].result.value),
    "mapsTo": JsonField(_text("mappedState of the rule"), lambda check: check[1].rule.mapped_state),
    "state": JsonField(_word(State, "the result of all rules for this CR"), lambda check: check[0].klm.state.value),
}
_KYMA_FIELDS: Final[Mapping[str, JsonField[KymaSummary]]] = {
    "name": JsonField(_text("the object's name"), lambda kyma: kyma.ref.name),
    "namespace": JsonField(_text("its namespace"), lambda kyma: kyma.ref.namespace),
    "channel": JsonField(_text("spec.channel", null=True), lambda kyma: kyma.channel or None),
    "state": JsonField(_text("status.state as reported", null=True), lambda kyma: kyma.state or None),
}
_PROBLEM_FIELDS: Final[Mapping[str, JsonField[Problem]]] = {
    "severity": JsonField(_word(Severity, "severity of the problem"), lambda problem: problem.severity.value),
    "module": JsonField(_text("the module that it concerns", null=True), lambda problem: problem.module or None),
    "object": JsonField(
        _text("the object or the list that it concerns", null=True), lambda problem: problem.object or None
    ),
    "message": JsonField(_text("what is wrong"), lambda problem: problem.message),
    **advice_fields(lambda problem: problem.advice),
    "actor": JsonField(
        _word(filter(None, Actor), "who acts next; null if no action is needed", null=True),
        lambda problem: actor_json(problem.actor),
    ),
}
MODULE_FIELDS: Final[Mapping[str, JsonField[ModuleRow]]] = {
    "name": JsonField(_text("the module's name"), lambda row: row.name),
    "origin": JsonField(_word(CatalogOrigin, "which catalog offers it"), lambda row: row.origin.value),
    "channels": JsonField(
        {
            "type": ["object", "null"],
            "additionalProperties": {"type": "string"},
            "description": "the version in each of its channels; empty for community modules, null if unknown",
        },
        _unless(RowFact.CHANNELS, lambda row: dict(row.channels)),
    ),
    "channel": JsonField(_text("the channel that applies to this Kyma", null=True), lambda row: row.channel or None),
    "channelSource": JsonField(
        _word(ChannelSource, "what names the channel", null=True),
        lambda row: row.resolution.channel_source.value if row.channel else None,
    ),
    "desired": JsonField(_text("the version that should run", null=True), lambda row: row.desired or None),
    "installed": JsonField(
        _text("the running version; if nothing names a version, the tag or text that was found", null=True),
        lambda row: row.installed or None,
    ),
    "installedSource": JsonField(
        _word(
            VersionSource,
            "running: read from the workload; reported: only the Manifest or the Kyma names it",
            null=True,
        ),
        lambda row: row.version_source.value if row.version_source is not None else None,
    ),
    "newest": JsonField(
        _text("the newest release, or the newest pre-release if there are only pre-releases", null=True),
        _unless(RowFact.NEWEST, lambda row: row.newest or None),
    ),
    "drift": JsonField(
        _word(DriftKind, "how installed relates to desired; none if nothing is compared"),
        lambda row: row.drift.kind.value,
    ),
    "state": JsonField(_word(State, "the worst state that a source reports"), lambda row: row.state.value),
    "stateSource": JsonField(
        _word(filter(None, StateSource), "the source of the state", null=True),
        lambda row: row.state_source.value or None,
    ),
    "presence": JsonField(
        _word(Presence, "whether it is installed, and by which owner; a partial one is the STATE of tables"),
        lambda row: row.presence.value,
    ),
    "managed": JsonField(
        _flag("whether lifecycle-manager manages it; null if unknown", null=True),
        _unless(RowFact.MANAGED, lambda row: row.managed),
    ),
    "mandatory": JsonField(
        _flag("whether every Kyma has it without a request; null if unknown", null=True),
        _unless(RowFact.MANDATORY, lambda row: row.mandatory),
    ),
    "beta": JsonField(_flag("only Kymas with the beta label get it"), lambda row: row.beta),
    "internal": JsonField(_flag("only Kymas with the internal label get it"), lambda row: row.internal),
    "checks": JsonField(
        {
            "type": ["array", "null"],
            "items": _object_of(_CHECK_FIELDS),
            "description": "each rule of customStateCheck for each module CR; null if the CRs could not be listed",
        },
        _unless(RowFact.CHECKS, lambda row: [rule for checked in row.checked for rule in _checks(checked)]),
    ),
    "reason": JsonField(_text("what is wrong and what to do, or the normal status"), lambda row: row.reason.text),
    "cause": JsonField(_text("what is wrong, or the normal status"), lambda row: row.reason.cause),
    "effect": JsonField(_text("what follows from the cause", null=True), lambda row: row.reason.effect or None),
    "blockedBy": JsonField(
        {"type": "array", "items": {"type": "string"}, "description": "objects that the deletion waits for"},
        lambda row: list(map(str, row.reason.blocked_by)),
    ),
    **advice_fields(lambda row: row.reason.advice),
    "actor": JsonField(
        _word(filter(None, Actor), "who acts next; null if no action is needed", null=True),
        lambda row: actor_json(row.actor),
    ),
    "installedBy": JsonField(
        _text("who installed it: lifecycle-manager, kymatui, helm, kyma CLI, kubectl …; null if unknown", null=True),
        lambda row: row.installed_by or None,
    ),
    "installation": JsonField(
        _or_null(_installation(), "the record of kymatui or helm in the cluster; null if there is none"),
        installation_json,
    ),
    "unknown": JsonField(
        _unknown(map(str, RowFact), "the facts that are unknown because a list is missing, and why"),
        lambda row: {fact.value: unknown_json(why) for fact, why in row.unknown.items()},
    ),
}
