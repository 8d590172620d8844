"""`kymatui bundle diff A B`: prints what differs between two component versions; exit status 2 if anything does."""

from __future__ import annotations

import argparse
from typing import Any, Final

from kymatui.cli.cluster_options import add_fetching, add_option, add_output, fetch_options
from kymatui.cli.options.registry_options import add_mapping, located_component
from kymatui.cli.output.plan_changes import change_json
from kymatui.cli.output.printing import document, print_line, print_text
from kymatui.domain.kubernetes.terminal_text import format_count, sanitize
from kymatui.domain.versions.version_diff import ChangeKind
from kymatui.publishing.diff import ComponentDiff, diff_components
from kymatui.sessions.registries import open_registries

_MARKS: Final = {ChangeKind.ADDED: "+", ChangeKind.REMOVED: "-", ChangeKind.CHANGED: "~"}


def configure(parser: argparse.ArgumentParser) -> None:
    add_option(parser, "before BEFORE", "HOST[/PATH]//COMPONENT:VERSION")
    add_option(parser, "after AFTER", "HOST[/PATH]//COMPONENT:VERSION, or only another VERSION")
    add_output(parser, ("text", "json", "yaml"))
    add_mapping(parser)
    add_fetching(parser)


def run(args: argparse.Namespace) -> int:
    before = located_component(args.before, args.mapping)
    text = args.after if "/" in args.after else f"{before.base}//{before.name}:{args.after}"
    components = diff_components(open_registries(fetch_options(args)), before, located_component(text, args.mapping))
    if args.output == "text":
        print_diff(components)
    else:
        print_text(document(_json(components), args.output))
    return 2 if components.sections else 0


def print_diff(diff: ComponentDiff) -> None:
    print_line(f"{diff.before.location} → {diff.after.location}")
    for name, changes in diff.sections.items():
        print_text("")
        print_line(f"{name} ({format_count(len(changes), 'difference')})")
        for change in changes:
            print_line(sanitize(f"  {_MARKS[change.kind]} {change.line}"))
    if not diff.sections:
        print_text("no differences")


def _json(diff: ComponentDiff) -> dict[str, Any]:
    sections = {str(name): [change_json(change) for change in changes] for name, changes in diff.sections.items()}
    locations = {"before": str(diff.before.location), "after": str(diff.after.location)}
    return {**locations, "differences": sections}
