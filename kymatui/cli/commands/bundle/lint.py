"""`kymatui bundle lint`: every problem of a module's sources, with file and line."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence

from kymatui.cli.cluster_options import add_fetching, add_option, add_options, add_output, fetch_options
from kymatui.cli.commands.bundle.create import CONFIG
from kymatui.cli.options.registry_options import PlaceKind, add_mapping, artifact_place
from kymatui.cli.output.printing import document, print_text
from kymatui.domain.kubernetes.terminal_text import format_count, sanitize
from kymatui.domain.kyma.problems import Severity
from kymatui.errors import UsageError
from kymatui.ocm.component_location import ComponentLocation, NameMapping
from kymatui.publishing.config_reader import SourceProblem
from kymatui.publishing.lint import RegistryChecks, lint_module
from kymatui.publishing.lint_rules import ServerRules
from kymatui.publishing.places import open_sources
from kymatui.sessions.fetching import FetchOptions
from kymatui.sessions.registries import open_registries


def configure(parser: argparse.ArgumentParser) -> None:
    add_option(parser, "-c --config-file FILE", f"module config (default: {CONFIG})", default=CONFIG)
    options = {
        "--check-images": "also report images that their registries do not have",
        "--against PLACE": "also report what grew since a version: HOST[/PATH] for the last one, or "
        "HOST[/PATH]//COMPONENT:VERSION",
        "--strict": "exit status 2 for warnings, too",
    }
    add_options(parser, options, "")
    add_output(parser, ("text", "json", "yaml"))
    add_mapping(parser)
    add_fetching(parser)


def run(args: argparse.Namespace) -> int:
    """Return 2 if there are errors, or warnings with --strict."""
    options = fetch_options(args)
    problems = lint_module(args.config_file, open_sources(options), ServerRules(), _registry_checks(args, options))
    counts = Counter(problem.severity for problem in problems)
    if args.output == "text":
        print_text("\n".join(problem_lines(args.config_file, problems)))
    else:
        print_text(document({"problems": [_entry(problem) for problem in problems]}, args.output))
    return 2 if counts[Severity.ERROR] or (args.strict and problems) else 0


def _registry_checks(args: argparse.Namespace, options: FetchOptions) -> RegistryChecks | None:
    if not args.check_images and not args.against:
        return None
    before = None
    if args.against:
        location = artifact_place(args.against, args.mapping)
        if location.kind is not PlaceKind.REGISTRY or location.image is not None:
            raise UsageError(f"{args.against!r} is not a registry or component", hint="write HOST[:PORT][/PATH]")
        before = location.component or ComponentLocation(location.base, "", "", NameMapping(args.mapping))
    return RegistryChecks(open_registries(options), args.check_images, before)


def problem_lines(config: str, problems: Sequence[SourceProblem]) -> list[str]:
    """Return a line for each problem, and one that counts them."""
    counts = Counter(problem.severity for problem in problems)
    located = [(f"{problem.file}:{problem.line}" if problem.line else problem.file, problem) for problem in problems]
    lines = [
        sanitize(f"{location}: {problem.severity}: {problem.message} ({problem.rule})") for location, problem in located
    ]
    totals = [
        format_count(counts[severity], str(severity))
        for severity in (Severity.ERROR, Severity.WARNING)
        if counts[severity]
    ]
    return [*lines, f"{config}: {', '.join(totals) or 'no problems'}"]


def _entry(problem: SourceProblem) -> dict[str, object]:
    return {
        "file": problem.file,
        "line": problem.line or None,
        "severity": str(problem.severity),
        "rule": problem.rule,
        "message": problem.message,
    }
