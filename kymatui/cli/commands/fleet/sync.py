"""`kymatui sync RUNTIME [--label KEY=VALUE]`: what of the catalog a runtime gets, and why; what labels would change."""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

from kymatui.cli.cluster_options import add_option
from kymatui.cli.commands.fleet.compare import configure_runtime, watch_pairs
from kymatui.cli.options.editing import effects_json
from kymatui.cli.output.listing import Listing, ListPrinter, is_table, name_lines, render_document
from kymatui.cli.output.printing import markdown, paragraph, table
from kymatui.domain.catalog.catalog_json import unknown_json
from kymatui.domain.remote.catalog_sync import SyncEntry, SyncPlan, SyncStatus, plan_pair_sync
from kymatui.domain.remote.runtime_pair import RuntimePair
from kymatui.domain.snapshot.cluster_index import KYMA_FEED
from kymatui.domain.snapshot.missing_lists import explain_missing
from kymatui.errors import KymatuiError, NotFoundError, RefusedError, UsageError
from kymatui.lists.columns import row_document
from kymatui.lists.control_plane import SYNC_COLUMNS

if TYPE_CHECKING:
    from kymatui.domain.kyma_edit.label_effects import LabelEffects

_KEY = re.compile(r"([a-z0-9.-]+/)?[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?")
_VALUE = re.compile(r"([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?")


def configure(parser: argparse.ArgumentParser) -> None:
    configure_runtime(parser, runtime="?")
    add_option(
        parser,
        "--label KEY=VALUE…",
        "preview the effect of this label on the control plane's Kyma (`kymatui label` sets it); KEY- removes it; "
        "repeatable",
    )


def run(args: argparse.Namespace) -> int:
    labels = read_labels(args.label)
    printer, status = ListPrinter(args), 0
    with closing(watch_pairs(args)) as pairs:
        for pair in pairs:
            status = _preview(pair, labels, args, printer) if labels else _explain(pair, printer)
    return status


def read_labels(words: Sequence[str]) -> dict[str, str | None]:
    """Parse labels as kubectl does: `key=value` sets, `key-` removes; `beta` and `internal` stand for full names."""
    from kymatui.domain.kyma_edit.label_edit import LABELS

    labels: dict[str, str | None] = {}
    for word in words:
        key, sign, value = word.partition("=")
        taken = not sign and key.endswith("-")
        key = key[:-1] if taken else key
        if not _KEY.fullmatch(key) or not (sign or taken) or not _VALUE.fullmatch(value):
            hint = "use KEY=VALUE to set a label, KEY- to remove it"
            raise UsageError(f"invalid label {word!r}", hint=hint)
        new_value = None if taken else value
        if labels.setdefault(LABELS.get(key, key), new_value) != new_value:
            raise UsageError(f"label {key} has two different values")
    return labels


def _no_kyma(pair: RuntimePair) -> KymatuiError:
    """Return the error for a Kyma that is not there, or not known."""
    why = explain_missing(pair.control.feeds, [KYMA_FEED])
    if why is not None:
        return KymatuiError(f"the Kyma of {pair.name} is unknown: {why.reason}")
    return NotFoundError(f"the control plane has no Kyma of {pair.name}", status=404)


def _explain(pair: RuntimePair, printer: ListPrinter) -> int:
    plan = plan_pair_sync(pair)
    if plan is None:
        raise _no_kyma(pair)
    printer.show(_listing(pair, plan))
    amiss = (SyncStatus.MISSING, SyncStatus.LEFT_OVER, SyncStatus.UNKNOWN)
    return RefusedError.exit_code if plan.unknown is not None or any(plan.count(standing) for standing in amiss) else 0


def _listing(pair: RuntimePair, plan: SyncPlan) -> Listing[SyncEntry]:
    order = (SyncStatus.MISSING, SyncStatus.LEFT_OVER, SyncStatus.UNKNOWN)
    entries = sorted(plan.entries, key=lambda entry: entry.standing not in order)
    counts = ", ".join(f"{plan.count(standing)} {standing.value}" for standing in SyncStatus if plan.count(standing))
    return Listing(
        columns=SYNC_COLUMNS,
        entries=entries,
        document=lambda listed: {
            "runtime": pair.name,
            "catalog": [_json(entry, plan) for entry in listed],
            "unknown": {} if plan.unknown is None else {"catalog": unknown_json(plan.unknown)},
        },
        item=lambda entry: _json(entry, plan),
        name=lambda entry: f"{entry.ref.kind.kind}/{entry.ref.name}",
        below=(f"{pair.name}: {counts or _nothing(plan)}",),
    )


def _nothing(plan: SyncPlan) -> str:
    return (
        "the control plane has no catalog" if plan.unknown is None else f"the control plane's catalog: {plan.unknown}"
    )


def _json(entry: SyncEntry, plan: SyncPlan | None = None) -> dict[str, Any]:
    is_known = plan is None or plan.unknown is None
    return {**row_document(SYNC_COLUMNS, entry), "wanted": entry.is_wanted if is_known else None}


# what labels would change


def _preview(pair: RuntimePair, labels: dict[str, str | None], args: argparse.Namespace, printer: ListPrinter) -> int:
    from kymatui.domain.kyma_edit.label_effects import preview_label_effects

    effects = preview_label_effects(pair, labels, time.time())
    if effects is None:
        raise _no_kyma(pair)
    printer.put(_preview_text(pair, effects, args.output))
    return 0


def _preview_text(pair: RuntimePair, effects: LabelEffects, form: str) -> str:
    if form == "name":
        return name_lines(effect.module for effect in effects.effects)
    if not is_table(form):
        return render_document(_preview_json(pair, effects), form)
    draw = markdown if form == "md" else table
    rows = [
        (word, entry.ref.kind.kind, entry.ref.name, entry.version)
        for word, entries in (("add", effects.offered), ("delete", effects.withdrawn), ("change", effects.changed))
        for entry in entries
    ]
    parts = [draw(("CATALOG", "KIND", "NAME", "VERSION"), rows)] if rows else ["The runtime's catalog does not change."]
    if effects.effects:
        parts.append(draw(("MODULE", "EFFECT"), [(effect.module, effect.message) for effect in effects.effects]))
    else:
        parts.append("No module is installed or uninstalled.")
    parts += [paragraph(f"warning: {text}", form) for text in effects.warnings]
    return "\n\n".join([f"Preview for runtime {pair.name}. No changes made.", *parts])


def _preview_json(pair: RuntimePair, effects: LabelEffects) -> dict[str, Any]:
    return {
        "runtime": pair.name,
        "labels": dict(effects.labels),
        "comes": [_json(entry) for entry in effects.offered],
        "goes": [_json(entry) for entry in effects.withdrawn],
        "changes": [_json(entry) for entry in effects.changed],
        "effects": effects_json(effects.effects),
        "uninstalls": list(effects.uninstalls),
        "warnings": list(effects.warnings),
    }
