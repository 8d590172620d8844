"""`kymatui bundle pull`: writes the content of a component into a folder."""

from __future__ import annotations

import argparse
from pathlib import Path

from kymatui.adapters.files.user_files import write_files
from kymatui.cli.cluster_options import add_fetching, add_option, fetch_options
from kymatui.cli.options.registry_options import add_component, add_mapping, located_component
from kymatui.cli.output.printing import print_line
from kymatui.domain.kubernetes.terminal_text import format_count
from kymatui.publishing.pull import pull_component
from kymatui.sessions.registries import open_registries


def configure(parser: argparse.ArgumentParser) -> None:
    add_component(parser)
    add_option(parser, "--unpack DIR", "new or empty folder for the descriptor and unpacked resources", required=True)
    add_mapping(parser)
    add_fetching(parser)


def run(args: argparse.Namespace) -> int:
    location = located_component(args.component, args.mapping)
    pulled = pull_component(open_registries(fetch_options(args)), location)
    write_files(Path(args.unpack), pulled.files)
    for name in pulled.resources:
        print_line(f"unpacked  {name}")
    for text in pulled.elsewhere:
        print_line(f"external  {text}")
    print_line(f"written   {format_count(len(pulled.files), 'file')} to {args.unpack}")
    return 0
