"""`kymatui bundle diff A B`: prints what differs between two component versions; exit status 2 if anything does."""

from __future__ import annotations

import argparse
from typing import Any

from kymatui.cli.options.fetching import add_fetching, fetch_options
from kymatui.cli.options.registry_options import add_mapping, located_component
from kymatui.cli.output.differences import MARKS, change_json
from kymatui.cli.output.printing import document, print_line, print_text
from kymatui.domain.kubernetes.terminal_text import format_count, sanitize
from kymatui.publishing.diff import ComponentDiff, diff_components
from kymatui.sessions.registries import open_registries


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
        print_text(document(_json(found), args.output))
    return 2 if found.sections else 0


def print_diff(found: ComponentDiff) -> None:
    print_line(f"{found.before.location} → {found.after.location}")
    for name, changes in found.sections.items():
        print_text("")
        print_line(f"{name} ({format_count(len(changes), 'difference')})")
        for one in changes:
            print_line(sanitize(f"  {MARKS[one.kind]} {one.line}"))
    if not found.sections:
        print_text("no differences")


def _json(found: ComponentDiff) -> dict[str, Any]:
    sections = {str(name): [change_json(one) for one in changes] for name, changes in found.sections.items()}
    places = {"before": str(found.before.location), "after": str(found.after.location)}
    return {**places, "differences": sections}
