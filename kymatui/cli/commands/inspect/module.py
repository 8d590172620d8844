"""`kymatui module NAME`: one module from every side."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from kymatui.cli.cluster_options import add_option
from kymatui.cli.options.reading import configure_reading, follow, row_of
from kymatui.cli.output.listing import Listing, render
from kymatui.domain.installed import InstallationPhase
from kymatui.domain.kyma.module_templates import ModuleLink, module_links
from kymatui.domain.snapshot.missing_lists import RowFact
from kymatui.lists.columns import text_columns

if TYPE_CHECKING:
    from kymatui.domain.catalog.rows import ModuleRow


def configure(parser: argparse.ArgumentParser) -> None:
    add_option(parser, "name NAME", "name of the module")
    configure_reading(parser)


def run(args: argparse.Namespace) -> int:
    return follow(args, lambda catalog: (_text(row_of(catalog, args.name), args), 0))


def _text(row: ModuleRow, args: argparse.Namespace) -> str:
    listing = Listing(
        columns=text_columns("FACT", "VALUE"),
        entries=list(facts(row)),
        document=lambda _: module_json(row),
        name=lambda _: row.name,
    )
    return render(listing, args)


def facts(row: ModuleRow) -> Iterator[tuple[str, str]]:
    """Yield label and value of all facts: first declared, then observed, then reported ones."""
    from kymatui.domain.versions.messages import (
        channel_source_words,
        drift_words,
        note_words,
        refusal_words,
        source_words,
    )

    yield "module", row.name
    yield "origin", row.origin.value
    yield "fetched from", ", ".join(row.sources)
    yield from installation_facts(row)
    yield "state", row.state_words
    yield "state decided by", source_words(row.state_source)
    yield "reason", row.reason.text
    yield "who acts", row.reason.actor.value
    yield "blocked by", ", ".join(map(str, row.reason.blocked_by))
    source = channel_source_words(row.resolution.channel_source)
    yield "channel", row.text(RowFact.CHANNEL, f"{row.channel} ({source})" if row.channel else "")
    yield "channels", ", ".join(f"{channel}={version}" for channel, version in row.channels.items())
    yield "desired", row.text(RowFact.DESIRED, row.desired)
    yield "installed", row.installed_words
    yield "newest", row.text(RowFact.NEWEST, row.newest)
    yield "drift", row.text(RowFact.DRIFT, drift_words(row.drift))
    yield "presence", row.text(RowFact.STATE, row.presence.value)
    yield "managed", row.text(RowFact.MANAGED, "yes" if row.managed else "no")
    yield "policy", row.text(RowFact.POLICY, row.policy)
    yield "template", str(row.template or "")
    yield from ((link.name, link.address) for link in _links(row))
    yield "module's manager", str(row.manager or "")
    yield "manager ready", row.readiness.message if row.readiness else ""
    yield "Kyma reports", _with_message(row.reports.kyma, row.reports.kyma_message)
    yield (
        "Manifest reports",
        row.text(RowFact.MANIFEST, _with_message(row.reports.manifest, row.reports.manifest_message)),
    )
    for fact, why in row.unknown.items():
        yield f"{fact.value} unknown", str(why)
    for checked in row.checked:
        yield "module CR", f"{checked.resource}: {_with_message(checked.klm.state.value, checked.message)}"
    for item in row.evidence:
        yield (
            f"version from {item.source.value}",
            f"{item.version or item.text}{f' ({item.where})' if item.where else ''}",
        )
    if row.refusal is not None:
        yield "refused", refusal_words(row.refusal)
    for note in row.resolution.notes:
        yield "note", note_words(note)
    for problem in row.other_problems:
        yield problem.severity.value, problem.text


def installation_facts(row: ModuleRow) -> Iterator[tuple[str, str]]:
    """Yield what is recorded of the installation: nothing for what lifecycle-manager installed."""
    yield "installed by", row.installed_by
    installation, run = row.installation, row.run
    if installation is None or run is None:
        return
    kind = installation.source.value if installation.source is not None else "unknown"
    yield "installed from", f"{kind} {installation.address}".rstrip()
    yield "recorded in", str(installation.record)
    if run.phase is not InstallationPhase.INSTALLED:
        yield "last run", run.phase.value
        yield "objects", f"{run.objects} exist" if run.objects is not None else "unknown"
    elif installation.unread:
        yield "objects", f"unknown: {installation.unread}"


def _links(row: ModuleRow) -> tuple[ModuleLink, ...]:
    return module_links(row.shown) if row.shown is not None else ()


def _with_message(state: str, message: str) -> str:
    return f"{state}: {message}" if message else state


def module_json(row: ModuleRow) -> dict[str, Any]:
    """Return the row of `catalog -o json` with what explains it."""
    from kymatui.domain.catalog.catalog_json import actor_json, problem_json, reports_json, row_json
    from kymatui.domain.versions.messages import refusal_words

    refusal = row.refusal
    return {
        **row_json(row),
        "waitingFor": actor_json(row.actor),  # deprecated: `actor`
        "policy": None if RowFact.POLICY in row.unknown else str(row.policy) or None,
        "template": str(row.template) if row.template else None,
        "links": {link.name: link.address for link in _links(row)},
        "manager": str(row.manager) if row.manager else None,
        "managerReady": row.readiness.message if row.readiness else None,
        "reports": reports_json(row.reports),
        "resources": None
        if RowFact.CHECKS in row.unknown
        else [
            {"resource": str(resource.resource), "klm": resource.klm.state.value, "strict": resource.strict.state.value}
            for resource in row.checked
        ],
        "evidence": [
            {"source": evidence.source.value, "version": evidence.version or None, "text": evidence.text}
            for evidence in row.evidence
        ],
        "offers": [
            {
                "version": offer.version,
                "channels": list(offer.channels),
                "template": str(offer.template),
                "origin": offer.origin.value,
                "source": offer.source or None,
            }
            for offer in row.offers
        ],
        "refused": refusal_words(refusal) if refusal is not None else None,
        "problems": [problem_json(problem) for problem in row.other_problems],
    }
