"""`kymatui bundle template REFERENCE`: prints the template of a component version in a registry."""

from __future__ import annotations

import argparse

from kymatui.cli.cluster_options import add_fetching, add_option, fetch_options
from kymatui.cli.options.registry_options import (
    add_component,
    add_mapping,
    add_release,
    located_component,
    print_advice,
    read_release,
)
from kymatui.cli.output.printing import print_line, print_text
from kymatui.publishing.create import component_templates
from kymatui.publishing.module_template import to_yaml
from kymatui.publishing.places import open_sources
from kymatui.sessions.registries import open_registries


def configure(parser: argparse.ArgumentParser) -> None:
    add_component(parser)
    add_option(parser, "-o --output FILE", "file to write to (default: print)", dest="template", default="")
    add_release(parser)
    add_mapping(parser)
    add_fetching(parser)


def run(args: argparse.Namespace) -> int:
    location, options = located_component(args.component, args.mapping), fetch_options(args)
    scheme = "http://" if location.base.partition("/")[0] in options.insecure else ""
    sources = open_sources(options)
    request = read_release(args, sources)
    text = to_yaml(component_templates(open_registries(options), location, request, scheme=scheme))
    if args.template:
        sources.write(args.template, text)
        print_line(f"{'written':<10}{args.template}")
    else:
        print_text(text.rstrip("\n"))
    print_advice(request, location.name, location.version)
    return 0
