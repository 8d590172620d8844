"""`kymatui helm show all|chart|values|readme|crds CHART`."""

from __future__ import annotations

import argparse

from kymatui.cli.cluster_options import add_option
from kymatui.cli.commands.helm.chart_options import add_source, load
from kymatui.cli.output.terminal import print_content


def configure(parser: argparse.ArgumentParser) -> None:
    add_option(parser, "what", "part to print", choices=("all", "chart", "values", "readme", "crds"))
    add_option(parser, "chart", "path, URL, oci://…, or a name in --repo")
    add_source(parser)


def run(args: argparse.Namespace) -> int:
    from kymatui.helm.charts.show import shown

    print_content(shown(load(args, args.chart), args.what))
    return 0
