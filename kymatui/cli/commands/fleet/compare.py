"""`kymatui compare RUNTIME`: a control plane and one of its runtimes, what differs first; exit status 2 where it should
not."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any

from kymatui.cli.durations import add_duration
from kymatui.cli.output.printing import document, markdown, say, table
from kymatui.cli.parser import add_cluster_options
from kymatui.errors import RefusedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kymatui.domain.remote.differences import ComparisonLine
    from kymatui.domain.remote.runtime_pair import RuntimePair
    from kymatui.domain.remote.side_by_side import SideBySide

FORMATS = ("table", "json", "yaml", "md")
_HEADER = ("VERDICT", "ABOUT", "SUBJECT", "FIELD", "KCP", "SKR", "WHY", "WHO ACTS")


def configure(parser: argparse.ArgumentParser) -> None:
    configure_runtime(parser, runtime="?")
    parser.add_argument("--all", action="store_true", help="also list fields that are the same on both sides")


def configure_runtime(parser: argparse.ArgumentParser, *, runtime: str | None = None) -> None:
    """A runtime, `-o`, `--timeout`, and which clusters."""
    from kymatui.cli.session_arguments import add_remote_options

    parser.add_argument("runtime", metavar="RUNTIME", nargs=runtime, help="name, shoot or runtime ID")
    parser.add_argument("-o", "--output", choices=FORMATS, default="table", help="default: table")
    add_duration(parser, "--timeout", "30s", "limit for listing the clusters")
    add_cluster_options(parser, default=argparse.SUPPRESS)
    add_remote_options(parser)


def read_pair(args: argparse.Namespace) -> RuntimePair:
    """Both sides of the runtime that the words name, listed once; raises what keeps either from being reached."""
    from kymatui.cli.session_arguments import open_configured_pair

    session = open_configured_pair(args, args.runtime or "", read_only=True, once=True)
    try:
        session.start(lambda: None)
        session.wait_complete(args.timeout)
        session.require_kyma()
        return session.pair()
    finally:
        session.close()


def run(args: argparse.Namespace) -> int:
    from kymatui.domain.remote.side_by_side import compare_sides

    found = compare_sides(read_pair(args), time.time())
    say(_text(found, args))
    return 0 if found.is_as_intended else RefusedError.exit_code


def _text(found: SideBySide, args: argparse.Namespace) -> str:
    if args.output in ("json", "yaml"):
        return document(as_json(found), args.output)
    lines = found.lines if args.all else found.differing
    draw = markdown if args.output == "md" else table
    drawn = draw(_HEADER, [_row(line) for line in lines]) if lines else "no differences"
    return f"{drawn}\n\n{summary(found)}"


def _row(line: ComparisonLine) -> Sequence[str]:
    return (
        line.verdict.value,
        line.area.value,
        line.subject,
        line.field,
        line.control,
        line.runtime,
        line.why,
        line.actor.value,
    )


def summary(found: SideBySide) -> str:
    """How many lines there are of each verdict."""
    from kymatui.domain.remote.differences import LineVerdict

    return f"{found.name}: " + ", ".join(f"{found.count(verdict)} {verdict.value}" for verdict in LineVerdict)


def as_json(found: SideBySide) -> dict[str, Any]:
    """`{"runtime", "counts": {verdict: n}, "lines": […]}`; every line, what differs first."""
    from kymatui.domain.remote.differences import LineVerdict

    return {
        "runtime": found.name,
        "asIntended": found.is_as_intended,
        "counts": {verdict.value: found.count(verdict) for verdict in LineVerdict},
        "lines": [
            {
                "verdict": line.verdict.value,
                "about": line.area.value,
                "subject": line.subject,
                "field": line.field,
                "kcp": line.control or None,
                "skr": line.runtime or None,
                "why": line.why or None,
                "whoActs": line.actor.value or None,
            }
            for line in found.lines
        ],
    }
