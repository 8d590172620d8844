"""`kymatui compare RUNTIME`: a control plane and one of its runtimes, what differs first; exit status 2 where it should
not."""

from __future__ import annotations

import argparse
import threading
import time
from collections.abc import Generator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

from kymatui.cli.cluster_options import add_cluster_options, add_option, add_remote_options
from kymatui.cli.options.listing import add_list_output, add_list_timeout
from kymatui.cli.options.reading import wait_for_change
from kymatui.cli.output.listing import Listing, ListPrinter, is_table
from kymatui.domain.remote.differences import ComparisonLine, LineVerdict
from kymatui.domain.remote.runtime_pair import RuntimePair
from kymatui.errors import RefusedError
from kymatui.lists.columns import row_document
from kymatui.lists.control_plane import COMPARISON_COLUMNS

if TYPE_CHECKING:
    from kymatui.domain.remote.side_by_side import SideBySide


def configure(parser: argparse.ArgumentParser) -> None:
    configure_runtime(parser, runtime="?")
    add_option(parser, "--all", "also list fields that are the same on both sides")


def configure_runtime(parser: argparse.ArgumentParser, *, runtime: str | None = None) -> None:
    """Add the runtime, `-o`, `--timeout`, and the cluster options."""
    add_option(parser, "runtime RUNTIME", "name, shoot or runtime ID", nargs=runtime)
    add_list_output(parser)
    add_list_timeout(parser)
    add_cluster_options(parser)
    add_remote_options(parser)


def watch_pairs(args: argparse.Namespace) -> Generator[RuntimePair]:
    """Yield both sides of the chosen runtime, with --watch again whenever they change; to be closed.

    Raises what keeps either from being reached.
    """
    from kymatui.cli.session_arguments import open_configured_pair

    changed = threading.Event()
    with closing(open_configured_pair(args, args.runtime or "", read_only=True, once=not args.watch)) as session:
        session.start(changed.set)
        session.wait_complete(args.timeout)
        session.require_kyma()
        yield session.pair()
        while args.watch:
            wait_for_change(changed)
            yield session.pair()


def run(args: argparse.Namespace) -> int:
    from kymatui.domain.remote.side_by_side import compare_sides

    printer, status = ListPrinter(args), 0
    with closing(watch_pairs(args)) as pairs:
        for pair in pairs:
            comparison = compare_sides(pair, time.time())
            printer.show(
                _listing(comparison, with_equal=args.all or not (is_table(args.output) or args.output == "name"))
            )
            status = 0 if comparison.is_as_intended else RefusedError.exit_code
    return status


def _listing(comparison: SideBySide, *, with_equal: bool) -> Listing[ComparisonLine]:
    lines = comparison.lines if with_equal else comparison.differing
    return Listing(
        columns=COMPARISON_COLUMNS,
        entries=lines,
        document=lambda listed: as_json(comparison, listed),
        item=_line_json,
        name=lambda line: line.subject,
        below=(summary(comparison),),
        empty=f"no differences\n\n{summary(comparison)}",
    )


def summary(comparison: SideBySide) -> str:
    """Return how many lines there are of each verdict."""
    return f"{comparison.name}: " + ", ".join(f"{comparison.count(verdict)} {verdict.value}" for verdict in LineVerdict)


def as_json(comparison: SideBySide, lines: Sequence[ComparisonLine]) -> dict[str, Any]:
    """Return `{"runtime", "counts": {verdict: n}, "lines": […]}`; every line, what differs first."""
    return {
        "runtime": comparison.name,
        "asIntended": comparison.is_as_intended,
        "counts": {verdict.value: comparison.count(verdict) for verdict in LineVerdict},
        "lines": [_line_json(line) for line in lines],
    }


def _line_json(line: ComparisonLine) -> dict[str, Any]:
    return row_document(COMPARISON_COLUMNS, line)
