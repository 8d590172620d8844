"""The JSON Schema of `kymatui catalog -o json`, built from the same enums as the rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kymatui.domain.catalog.rows import CatalogOrigin
from kymatui.domain.kyma.problems import Actor, Severity
from kymatui.domain.kyma.states import State, StateSource
from kymatui.domain.modules.state_checks import RuleResult
from kymatui.domain.snapshot.missing_lists import LIST_WORDS, ListGap, RowFact
from kymatui.domain.versions.drift import DriftKind
from kymatui.domain.versions.evidence import VersionSource

Schema = dict[str, Any]


def catalog_json_schema() -> Schema:
    """Return the schema of the document; absent versions, channels and states are null."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "kymatui catalog",
        **_object(
            cluster=_text("the context's name"),
            kyma=_or_null(_kyma(), "the Kyma that the rows are about; null where there is none"),
            modules={"type": "array", "items": _module(), "description": "one a module, in the order of their names"},
            problems={"type": "array", "items": _problem(), "description": "what is wrong, the worst first"},
            counts={"description": "how many there are, as the top line of the screen says"}
            | _object(
                modules=_number("the modules; null where a list that names modules is missing"),
                problems=_number("the problems that are no mere information; null while lists are loading"),
            ),
            unknown=_unknown(("kyma", "modules", "problems"), "why part of this document is not known or not complete"),
            lists={
                "type": "object",
                "additionalProperties": _list(),
                "description": "how each list of the cluster is doing, by resource name",
            },
        ),
    }


def _kyma() -> Schema:
    return _object(
        name=_text("the object's name"),
        namespace=_text("its namespace"),
        channel=_text("spec.channel", null=True),
        state=_text("status.state, as it stands", null=True),
    )


def _module() -> Schema:
    channels = {"type": "object", "additionalProperties": {"type": "string"}}
    checks = {"type": "array", "items": _check()}
    return _object(
        name=_text("the module's name"),
        origin=_word(CatalogOrigin, "which catalog offers it"),
        channels={
            **channels,
            "type": ["object", "null"],
            "description": "the version of each channel that it is in; empty for community modules, null if not known",
        },
        channel=_text("the channel that counts for this Kyma", null=True),
        desired=_text("the version that should run", null=True),
        installed=_text("the version that runs; what stands in its place where no version is named", null=True),
        installedSource=_word(
            VersionSource, "running: the workload names it; reported: only Manifest or Kyma do", null=True
        ),
        newest=_text("the newest release; a pre-release only where there is no release", null=True),
        drift=_word(DriftKind, "how installed relates to desired; none where nothing is compared"),
        state=_word(State, "the worst of what everybody says of it"),
        stateSource=_word(filter(None, StateSource), "who said so", null=True),
        managed=_flag("lifecycle-manager manages it; null where that is not known", null=True),
        mandatory=_flag("every Kyma has it, without asking; null where that is not known", null=True),
        beta=_flag("only Kymas with the beta label get it"),
        internal=_flag("only Kymas with the internal label get it"),
        checks={
            **checks,
            "type": ["array", "null"],
            "description": "each rule of customStateCheck for each module CR; null where these could not be listed",
        },
        reason=_text("one sentence: what is wrong and who must act, or that nothing is"),
        actor=_word(filter(None, Actor), "who must act", null=True),
        unknown=_unknown(map(str, RowFact), "the facts of this module that a missing list leaves open, and why"),
    )


def _check() -> Schema:
    return _object(
        resource=_text("the kind, namespace and name of the resource"),
        path=_text("jsonPath of the rule"),
        wanted=_text("value of the rule"),
        found=_text("what is there; null where there is nothing", null=True),
        result=_word(RuleResult, "how the rule came out"),
        mapsTo=_text("mappedState of the rule"),
        state=_word(State, "what all rules together give for this resource"),
    )


def _problem() -> Schema:
    return _object(
        severity=_word(Severity, "how bad it is"),
        module=_text("the module that it concerns", null=True),
        object=_text("the object or the list that it concerns", null=True),
        message=_text("what is wrong"),
        actor=_word(filter(None, Actor), "who must act", null=True),
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
        state=_word(ListGap, "loading: wait; forbidden: the right to list is missing; unknown: the server failed"),
        lists={"type": "array", "items": {"type": "string"}, "description": "resource names of the missing lists"},
        reason=_text("the same in one sentence"),
    )
    properties = dict.fromkeys(facts, why)
    return {"type": "object", "additionalProperties": False, "properties": properties, "description": description}


def _list() -> Schema:
    return _object(
        state=_word(LIST_WORDS.values(), "listed: what is not there does not exist; else that is not known"),
        message=_text("what the server said", null=True),
    )


def _word(words: Iterable[str], description: str, *, null: bool = False) -> Schema:
    known: list[str | None] = [str(word) for word in words]
    return {"enum": [*known, None] if null else known, "description": description}


def _or_null(schema: Schema, description: str) -> Schema:
    return {"anyOf": [schema, {"type": "null"}], "description": description}
