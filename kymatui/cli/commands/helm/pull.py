"""`kymatui helm pull CHART`: fetches a packed chart, verified by digest where one is known."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from kymatui.cli.cluster_options import add_option
from kymatui.cli.commands.helm.chart_options import add_source, fetch, verify_bytes
from kymatui.cli.output.printing import print_line
from kymatui.errors import HelmError, KymatuiError
from kymatui.own_files import write_file


def configure(parser: argparse.ArgumentParser) -> None:
    add_option(parser, "chart", "URL, oci://…, or a name in --repo")
    add_option(parser, "-d --destination DIR", "folder to write the chart to (default: .)", default=".")
    add_option(parser, "--untar", "unpack the chart")
    add_option(parser, "--untardir DIR", "folder to unpack to, below --destination (default: .)", default=".")
    add_option(parser, "--prov", "also download the provenance, without verifying it")
    add_source(parser)


def run(args: argparse.Namespace) -> int:
    fetched = _fetch(args)
    if args.verify:
        verify_bytes(fetched.content, fetched.filename, fetched.provenance, args.keyring)
    if args.untar:
        _unpack(fetched.content, Path(args.destination) / args.untardir)
        return 0
    folder = Path(args.destination)
    _write(folder / Path(fetched.filename).name, fetched.content)
    if fetched.provenance is not None:
        _write(folder / f"{Path(fetched.filename).name}.prov", fetched.provenance)
    return 0


def _fetch(args: argparse.Namespace) -> Any:
    """Fetch a chart; with --prov alone, missing provenance is only a message, as in helm."""
    if args.prov and not args.verify:
        try:
            return fetch(args, args.chart, provenance=True)
        except KymatuiError as error:
            fetched = fetch(args, args.chart)
            print_line(f"WARNING: Verification not found for {fetched.source}: {error}")
            return fetched
    return fetch(args, args.chart)


def _unpack(content: bytes, folder: Path) -> None:
    """Write the archive's files to a new folder with the chart's name. Raise an error if it exists."""
    from kymatui.helm.charts.chart import load_archive

    chart = load_archive(content)  # refuses what is not safe before anything is written
    root = folder / chart.name
    if root.exists():
        raise HelmError(f"failed to untar: a file or directory with the name {root} already exists")
    for file in chart.raw:
        target = root / file.name
        if not target.resolve().is_relative_to(root.resolve()):
            raise HelmError(f"{file.name} leads out of {root}")
        _write(target, file.data)


def _write(path: Path, content: bytes) -> None:
    try:
        write_file(path, content, private=False)
    except OSError as error:
        raise HelmError(f"{path} cannot be written: {error.strerror or error}") from error
