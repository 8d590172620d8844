"""`kymatui helm lint PATH…`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from kymatui.cli.cluster_options import add_option
from kymatui.cli.commands.helm.chart_options import read_values
from kymatui.cli.options.chart_values import add_values
from kymatui.cli.output.printing import print_line, print_text


def configure(parser: argparse.ArgumentParser) -> None:
    add_option(parser, "paths PATH", "chart folder or archive; repeatable", nargs="+")
    add_option(parser, "--strict", "fail on warnings")
    add_option(parser, "--quiet", "print only warnings and errors")
    add_option(parser, "--with-subcharts", "also lint the charts in charts/")
    add_option(parser, "--skip-schema-validation", "do not check values.schema.json")
    add_option(parser, "--kube-version VERSION", "Kubernetes version for deprecations and capabilities", default="")
    add_option(parser, "-n --namespace NS", "namespace of the release (default: default)", default="default")
    add_values(parser.add_argument_group("values"))


def run(args: argparse.Namespace) -> int:
    """Return 1 where a chart fails, as helm does."""
    from kymatui.helm.linting import lint
    from kymatui.helm.linting.results import Linting

    linting = Linting(args.namespace, args.kube_version, check_schema=not args.skip_schema_validation)
    values = read_values(args)
    paths = _with_subcharts(args.paths) if args.with_subcharts else args.paths
    failed = noticed = 0
    for path in paths:
        result = lint(path, values, linting)
        noticed += result.is_noticed
        if args.quiet and not result.is_noticed:
            continue
        print_line(f"==> Linting {path}")
        for line in result.lines(quiet=args.quiet):
            print_text(line)
        print_text("")
        failed += result.failed(strict=args.strict)
    summary = f"{len(paths)} chart(s) linted, {failed} chart(s) failed"
    if failed:
        print_line(f"Error: {summary}", sys.stderr)
        return 1
    if not args.quiet or noticed:
        print_line(summary)
    return 0


def _with_subcharts(paths: list[str]) -> list[str]:
    charts = list(paths)
    for path in paths:
        for inner in sorted((Path(path) / "charts").rglob("*")):
            if inner.name == "Chart.yaml":
                charts.append(str(inner.parent))
            elif inner.name.endswith((".tgz", ".tar.gz")):
                charts.append(str(inner))
    return charts
