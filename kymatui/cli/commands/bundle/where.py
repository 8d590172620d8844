"""`kymatui bundle where COMPONENT:VERSION`: prints where a registry has a component version, without asking it."""

from __future__ import annotations

import argparse

from msgspec.structs import replace

from kymatui.cli.cluster_options import add_option
from kymatui.cli.options.registry_options import add_component, add_mapping, component_location
from kymatui.cli.output.printing import print_line
from kymatui.errors import UsageError


def configure(parser: argparse.ArgumentParser) -> None:
    add_component(parser)
    add_option(parser, "--registry HOST", "registry with its path, unless the component names it", default="")
    add_mapping(parser)


def run(args: argparse.Namespace) -> int:
    location = component_location(args.component, args.mapping)
    if location.base and args.registry:
        raise UsageError("the component and --registry both name a registry", hint="use one of them")
    location = replace(location, base=args.registry or location.base)
    if not location.base:
        raise UsageError(f"{location} has no registry", hint=f"use --registry HOST, or write HOST//{location}")
    print_line(f"{location.repository}:{location.tag}")
    return 0
