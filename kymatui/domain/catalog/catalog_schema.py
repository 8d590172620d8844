"""The JSON Schema of `kymatui catalog -o json`, built from the same enums as the rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kymatui.domain.catalog.rows import CatalogOrigin
from kymatui.domain.installed import InstallationPhase, SourceKind
from kymatui.domain.kyma.problems import Actor, Severity
from kymatui.domain.kyma.states import State, StateSource
from kymatui.domain.modules.module_signature import SignatureStatus
from kymatui.domain.modules.presence import Presence
from kymatui.domain.modules.state_checks import RuleResult
from kymatui.domain.snapshot.missing_lists import LIST_WORDS, ListGap, RowFact
from kymatui.domain.versions.drift import DriftKind
from kymatui.domain.versions.evidence import VersionSource
from kymatui.domain.versions.resolution import ChannelSource

Schema = dict[str, Any]


def catalog_json_schema() -> Schema:
    """Return the schema of the document; absent versions, channels and states are null."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "kymatui catalog",
        **_object(
            cluster=_text("the context's name"),
            kyma=_or_null(_kyma(), "the Kyma that the rows are about; null if there is none"),
            modules={"type": "array", "items": _module(), "description": "one entry for each module, by name"},
            problems={"type": "array", "items": _problem(), "description": "problems, the worst first"},
            counts={"description": "the counts of the screen's top line"}
            | _object(
                modules=_number("number of modules; null if a list that names modules is missing"),
                releases=_number(
                    "number of Helm releases of other tools; `--installed-by all` lists them; null if unknown"
                ),
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


def _kyma() -> Schema:
    return _object(
        name=_text("the object's name"),
        namespace=_text("its namespace"),
        channel=_text("spec.channel", null=True),
        state=_text("status.state as reported", null=True),
    )


def _module() -> Schema:
    """Return the schema of a module; `signature` is there with `--signed` only."""
    module_facts = _module_facts()
    module_facts["properties"]["signature"] = {
        "description": "with --signed: whether its component is signed"
    } | _object(
        status=_word(SignatureStatus, "whether the component is signed, and by the given key"),
        names={"type": "array", "items": {"type": "string"}, "description": "names of its signatures"},
        component=_text("where the descriptor was read, null for one in the ModuleTemplate", null=True),
        reason=_text("why a signature is invalid or unknown", null=True),
    )
    return module_facts


def _module_facts() -> Schema:
    channels = {"type": "object", "additionalProperties": {"type": "string"}}
    checks = {"type": "array", "items": _check()}
    return _object(
        name=_text("the module's name"),
        origin=_word(CatalogOrigin, "which catalog offers it"),
        channels={
            **channels,
            "type": ["object", "null"],
            "description": "the version in each of its channels; empty for community modules, null if unknown",
        },
        channel=_text("the channel that applies to this Kyma", null=True),
        channelSource=_word(ChannelSource, "what names the channel", null=True),
        desired=_text("the version that should run", null=True),
        installed=_text("the running version; if nothing names a version, the tag or text that was found", null=True),
        installedSource=_word(
            VersionSource,
            "running: read from the workload; reported: only the Manifest or the Kyma names it",
            null=True,
        ),
        newest=_text("the newest release, or the newest pre-release if there are only pre-releases", null=True),
        drift=_word(DriftKind, "how installed relates to desired; none if nothing is compared"),
        state=_word(State, "the worst state that a source reports"),
        stateSource=_word(filter(None, StateSource), "the source of the state", null=True),
        presence=_word(Presence, "whether it is installed, and by which owner; a partial one is the STATE of tables"),
        managed=_flag("whether lifecycle-manager manages it; null if unknown", null=True),
        mandatory=_flag("whether every Kyma has it without a request; null if unknown", null=True),
        beta=_flag("only Kymas with the beta label get it"),
        internal=_flag("only Kymas with the internal label get it"),
        checks={
            **checks,
            "type": ["array", "null"],
            "description": "each rule of customStateCheck for each module CR; null if the CRs could not be listed",
        },
        reason=_text("what is wrong and what to do, or the normal status"),
        actor=_word(filter(None, Actor), "who acts next; null if no action is needed", null=True),
        installedBy=_text("lifecycle-manager, kymatui, helm, flux, or another client of Helm; null without", null=True),
        installation=_or_null(_installation(), "the record of kymatui or helm in the cluster; null if there is none"),
        unknown=_unknown(map(str, RowFact), "the facts that are unknown because a list is missing, and why"),
    )


def _installation() -> Schema:
    return _object(
        name=_text("the name it was installed under"),
        namespace=_text("the namespace of its record"),
        record=_text("the ConfigMap of kymatui, or the Secret of the Helm release"),
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


def _check() -> Schema:
    return _object(
        resource=_text("kind, namespace and name of the module CR"),
        path=_text("jsonPath of the rule"),
        wanted=_text("value of the rule"),
        found=_text("the value in the CR; null if it has none", null=True),
        result=_word(RuleResult, "the result of the rule"),
        mapsTo=_text("mappedState of the rule"),
        state=_word(State, "the result of all rules for this CR"),
    )


def _problem() -> Schema:
    return _object(
        severity=_word(Severity, "severity of the problem"),
        module=_text("the module that it concerns", null=True),
        object=_text("the object or the list that it concerns", null=True),
        message=_text("what is wrong"),
        actor=_word(filter(None, Actor), "who acts next; null if no action is needed", null=True),
    )


def _object(**properties: Schema) -> Schema:
    """Return an object schema that requires every property and allows no other."""
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(properties),
        "properties": properties,
    }


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
