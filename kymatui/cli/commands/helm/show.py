"""`kymatui helm show all|chart|values|readme|crds CHART`."""

from __future__ import annotations

import argparse

from kymatui.cli.commands.helm.chart_options import add_source, load
from kymatui.cli.output.terminal import print_content


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", choices=("all", "chart", "values", "readme", "crds"), help="part to print")
    parser.add_argument("chart", help="path, URL, oci://…, or a name in --repo")
    add_source(parser)


def run(args: argparse.Namespace) -> int:
    from kymatui.helm.charts.show import shown

    print_content(shown(load(args, args.chart), args.what))
    return 0
