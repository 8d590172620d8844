"""`kymatui bundle show`: prints what a component version has; nothing is verified."""

from __future__ import annotations

import argparse

from kymatui.actions.components.component_facts import ShownComponent, component_facts, component_json, show_component
from kymatui.cli.cluster_options import add_fetching, add_option, add_output, fetch_options
from kymatui.cli.options.registry_options import add_component, add_mapping, located_component
from kymatui.cli.output.printing import document, print_line, print_text, table
from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.helm.yaml.writing import dump_yaml
from kymatui.sessions.registries import open_registries


def configure(parser: argparse.ArgumentParser) -> None:
    add_component(parser)
    add_option(parser, "--descriptor", "print the descriptor as it is stored, in YAML")
    add_output(parser, ("text", "json", "yaml"))
    add_mapping(parser)
    add_fetching(parser)


def run(args: argparse.Namespace) -> int:
    location = located_component(args.component, args.mapping)
    shown = show_component(open_registries(fetch_options(args)), location)
    if args.descriptor:
        print_text(dump_yaml(shown.component.document).rstrip("\n"))
    elif args.output == "text":
        print_component(shown)
    else:
        print_text(document(component_json(shown), args.output))
    return 0


def print_component(shown: ShownComponent) -> None:
    for name, text in component_facts(shown):
        print_line(sanitize(f"{name:<11}{text}"))
    print_text("")
    rows = [
        (resource.name, resource.type, resource.version, _size(resource.size), resource.location)
        for resource in shown.resources
    ]
    print_text(table(("RESOURCE", "TYPE", "VERSION", "SIZE", "BLOB OR IMAGE"), rows))


def _size(size: int | None) -> str:
    return "" if size is None else str(size)
