"""`kymatui bundle diff A B`: prints what differs between two component versions; exit status 2 if anything does."""

from __future__ import annotations

import argparse
import json
from typing import Any, Final

from kymatui.actions.artifacts.diff import ComponentDiff, diff_components
from kymatui.cli.options.fetching import add_fetching, fetch_options
from kymatui.cli.options.registry_options import add_mapping, located_component
from kymatui.cli.output.printing import document, say
from kymatui.composition.bundles import open_registries
from kymatui.domain.kubernetes.terminal_text import format_count, sanitize
from kymatui.domain.versions.version_diff import ChangeKind, ValueChange

LONGEST: Final = 120
_MARKS: Final = {ChangeKind.ADDED: "+", ChangeKind.REMOVED: "-", ChangeKind.CHANGED: "~"}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("before", metavar="BEFORE", help="HOST[/PATH]//COMPONENT:VERSION")
    parser.add_argument("after", metavar="AFTER", help="HOST[/PATH]//COMPONENT:VERSION, or only another VERSION")
    parser.add_argument(
        "-o", "--output", choices=("text", "json", "yaml"), default="text", help="output format (default: text)"
    )
    add_mapping(parser)
    add_fetching(parser)


def run(args: argparse.Namespace) -> int:
    before = located_component(args.before, args.mapping)
    text = args.after if "/" in args.after else f"{before.base}//{before.name}:{args.after}"
    found = diff_components(open_registries(fetch_options(args)), before, located_component(text, args.mapping))
    if args.output == "text":
        print_diff(found)
    else:
        say(document(_json(found), args.output))
    return 2 if found.sections else 0


def print_diff(found: ComponentDiff) -> None:
    say(f"{found.before.location} → {found.after.location}")
    for name, changes in found.sections.items():
        say(f"\n{name} ({format_count(len(changes), 'difference')})")
        for one in changes:
            say(sanitize(f"  {_MARKS[one.kind]} {_line(one)}"))
    if not found.sections:
        say("no differences")


def _line(change: ValueChange) -> str:
    if change.kind is ChangeKind.CHANGED:
        return f"{change.path}: {_value(change.before)} → {_value(change.after)}"
    value = change.after if change.kind is ChangeKind.ADDED else change.before
    return change.path if isinstance(value, dict) and "kind" in value else f"{change.path}: {_value(value)}"


def _value(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def _json(found: ComponentDiff) -> dict[str, Any]:
    sections = {
        str(name): [
            {"change": str(one.kind), "path": one.path, "before": one.before, "after": one.after} for one in changes
        ]
        for name, changes in found.sections.items()
    }
    places = {"before": str(found.before.location), "after": str(found.after.location)}
    return {**places, "differences": sections}
