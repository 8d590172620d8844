"""`kymatui audit`, `kymatui audit rules`, `kymatui audit explain ID`: findings about a cluster that is only read."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from kymatui.adapters.files.user_files import write_file
from kymatui.cli.cluster_options import add_cluster_options, add_contexts, add_option, add_remote_options, uses_contexts
from kymatui.cli.options.listing import add_list_output, add_list_timeout, read_again
from kymatui.cli.options.unknown_names import require_in_fleet, require_known, require_namespace
from kymatui.cli.output.listing import NO_MODULES, Listing, ListPrinter, is_table, render, render_document
from kymatui.cli.output.printing import document, markdown, print_line, print_message, print_text, table
from kymatui.domain.audit.findings import AuditFinding, AuditKind, AuditRule, Baseline, join_scopes, read_baseline
from kymatui.domain.kubernetes.terminal_text import error_reason, format_count, sanitize
from kymatui.domain.kyma.problems import Actor, Severity
from kymatui.domain.rights import role_hint
from kymatui.errors import ConfigurationError, KymatuiError, RefusedError, UnknownNameError, UsageError
from kymatui.helm.yaml.errors import YamlError
from kymatui.helm.yaml.reading import load_exactly
from kymatui.json_input import read_json
from kymatui.lists.audit import (
    FINDING_COLUMNS,
    RULE_COLUMNS,
    FindingEntry,
    about_audit,
    changing_sections,
    count_findings,
    finding_sentence,
    fixed_sections,
)
from kymatui.lists.columns import row_document

if TYPE_CHECKING:
    from kymatui.domain.audit.findings import AuditScope
    from kymatui.domain.audit.ignores import IgnoreEntry
    from kymatui.domain.audit.report import AuditReport
    from kymatui.sessions.cluster.catalog_session import CatalogSession
    from kymatui.sessions.contexts import ContextEntry
    from kymatui.sessions.reports.fleet_audit import AuditProgress

FLEET = "*"
"""What `--remote` without a runtime means."""
_REPORTS = ("sarif", "html", "junit")
_EVERY, _MANY = 2.0, 100
"""Seconds between two words on how far it is, and from how many runtimes on the end is told, too."""
_SEVERITIES = ("error", "warning", "info")


def configure(parser: argparse.ArgumentParser) -> None:
    add_option(
        parser,
        "what",
        "rules: list all rules; explain: print one rule (default: audit the cluster)",
        nargs="?",
        type=_subcommand,
        choices=("rules", "explain"),
    )
    add_option(parser, "rule ID", "with explain: the rule, e.g. image.tag", nargs="?")
    add_option(parser, "--module NAME…", "only findings of this module; repeatable", dest="modules", default=None)
    add_option(parser, "--rule ID…", "only findings of this rule; repeatable", dest="rules", default=None)
    add_option(parser, "--severity", "lowest severity to list (default: info)", choices=_SEVERITIES, default="info")
    add_list_output(parser, *_REPORTS)
    add_option(parser, "--ignore FILE", "file of accepted findings, each with a reason and an expiry date")
    add_option(parser, "--baseline FILE", "report only findings that are not in this file of an earlier audit")
    add_option(parser, "--save-baseline FILE", "save the findings for a later --baseline")
    add_option(
        parser,
        "--fail-on",
        "lowest severity that sets exit status 2 (default: warning)",
        choices=(*_SEVERITIES, "never"),
        default="warning",
    )
    add_list_timeout(parser)
    add_cluster_options(parser)
    add_remote_options(parser)
    add_option(
        parser,
        "--remote RUNTIME",
        "audit this runtime of the control plane; without a name, all runtimes in less depth",
        nargs="?",
        const=FLEET,
    )
    add_contexts(parser, "audit these contexts of the kubeconfig")
    add_option(
        parser, "--objects", "with --remote for all runtimes: also read every object of every module (one request each)"
    )


def _subcommand(text: str) -> str:
    """Return the subcommand. Raise UsageError for a rule, which `explain` and --rule take."""
    from kymatui.domain.audit.report import find_rule

    if find_rule(text) is None:
        return text
    hint = f"run `kymatui audit explain {text}`, or `kymatui audit --rule {text}` for its findings"
    raise UsageError(f"{text} is a rule, not a subcommand", hint=hint)


def _unread_lines(report: AuditReport) -> Iterator[str]:
    """Yield what was not read: in one line what the cluster refuses, of which the findings have the reasons."""
    refused = [item for item in report.unread if item.actor is Actor.CLUSTER]
    if len(refused) > 1:
        names = ", ".join(item.object for item in refused)
        yield f"not read: {format_count(len(refused), 'list')}: {names}. If you may not list them, {role_hint()}"
    for item in report.unread:
        if len(refused) < 2 or item not in refused:
            yield f"not read: {finding_sentence(item)}"


def run(args: argparse.Namespace) -> int:
    if args.what == "rules":
        return _list_rules(args)
    if args.what == "explain":
        return _explain(args)
    for identifier in args.rules or ():
        _require_rule(identifier)
    ignores = _ignores(args.ignore)
    baseline = _baseline(args.baseline)
    printer, status = ListPrinter(args), 0
    for report in read_again(args, lambda: _audited(args, ignores), limited=False):
        if args.save_baseline and not report.unread:
            _save(Path(args.save_baseline), report)
        new = report.selected(args.modules or (), args.rules or (), Severity(args.severity))
        if baseline is not None:
            new = new.since(baseline)
            if report.scope.kind is not AuditKind.CONTEXTS and baseline.cluster != report.cluster:
                printer.note(f"{baseline.path} is an audit of {baseline.cluster}, this one is of {report.cluster}")
        status = RefusedError.exit_code if _fails(new, args.fail_on) else _unread_status(report, args.fail_on)
        printer.put(_text(_with_unread(new, report), args))
        printer.note(*_unread_lines(report))
        if args.save_baseline and report.unread:
            lists = format_count(len(report.unread), "list")
            remedy = report.unread[0].rule.remedy
            hint = f"{remedy[:1].lower()}{remedy[1:].removesuffix('.')}"
            raise RefusedError(f"{args.save_baseline} not written: {lists} not read", hint=hint)
    return status


def _unread_status(report: AuditReport, fail_on: str) -> int:
    """Return 1 where lists that did not come leave unknown whether there are findings."""
    return KymatuiError.exit_code if report.unread and fail_on != "never" else 0


def _with_unread(new: AuditReport, report: AuditReport) -> AuditReport:
    """Return a narrowed report with the lists that did not come: what they hide may be what was asked for."""
    known = new.trend.baseline.findings if new.trend is not None else ()
    missing = (item for item in report.unread if item not in new.findings and item.fingerprint not in known)
    return replace(new, findings=(*new.findings, *missing))


def _audited(args: argparse.Namespace, ignores: tuple[IgnoreEntry, ...]) -> AuditReport:
    """Open the cluster with the gate shut, whatever else was said."""
    from kymatui.actions.audit import audit_session, unreached_report
    from kymatui.cli.session_arguments import is_remote, open_chosen

    if uses_contexts(args):
        return _contexts(args, ignores)
    if args.remote == FLEET:
        return _fleet(args, ignores)
    session = open_chosen(args, read_only=True, once=True)
    try:
        session.start(lambda: None)
        session.wait_complete(args.timeout)  # a list that is late is a finding
        session.require_kyma()
        if not is_remote(args):  # there it is the namespace of the control plane's Kymas
            require_namespace(session.cluster, args)
        require_known(session, args.modules or (), None)
        return audit_session(session, session.cluster, ignores)
    except KymatuiError as error:
        by_hand = args.skr_kubeconfig or args.skr_context  # then it is the words that are wrong, and not the runtime
        if is_remote(args) and error is session.failure and not by_hand:
            return unreached_report(session, error, ignores)
        raise
    finally:
        session.close()


def _fleet(args: argparse.Namespace, ignores: tuple[IgnoreEntry, ...]) -> AuditReport:
    """Return every runtime; those that cannot be looked at are findings."""
    from kymatui.cli.options.direct_install import cancellable
    from kymatui.cli.session_arguments import remote_options_of
    from kymatui.sessions.reports.fleet_audit import audit_fleet

    args.remote = None
    options, _ = remote_options_of(args, read_only=True)
    require_in_fleet(options.control, args.modules or (), ())
    with cancellable() as cancel:
        report, notes = audit_fleet(options, ignores, deep=args.objects, progress=_Progress(), cancel=cancel)
    for note in notes:
        print_message(note)
    return report


def _contexts(args: argparse.Namespace, ignores: tuple[IgnoreEntry, ...]) -> AuditReport:
    """Return the findings of all contexts; one that cannot be read is a finding, too."""
    from kymatui.actions.audit import audit_session, is_access_error
    from kymatui.cli.options.contexts import read_each
    from kymatui.domain.audit.fleet_rules import unread_context_finding
    from kymatui.domain.audit.report import judge_findings

    def audited(entry: ContextEntry, session: CatalogSession) -> tuple[AuditScope, list[AuditFinding]]:
        require_known(session, args.modules or (), None)
        report = audit_session(session, session.cluster)
        return report.scope, [replace(item, runtime=entry.name) for item in report.findings]

    answers = read_each(args, audited, read_only=True, work_seconds=10 * args.timeout)
    unknown = [error for _, error in answers.failures.values() if isinstance(error, UnknownNameError)]
    if unknown and not answers.results:
        raise unknown[0]
    failed = [
        unread_context_finding(name, str(error), access=is_access_error(error))
        for name, (_, error) in answers.failures.items()
        if not isinstance(error, UnknownNameError)  # the module is in other contexts
    ]
    names = sorted([*answers.results, *answers.failures])
    scopes, results = zip(*answers.results.values(), strict=True) if answers.results else ((), ())
    findings = [*chain.from_iterable(results), *failed]
    scope = join_scopes(AuditKind.CONTEXTS, names, scopes)
    return judge_findings(format_count(len(names), "context"), "", time.time(), findings, ignores, scope)


class _Progress:
    """A line on standard error now and then: a fleet of thousands takes minutes."""

    def __init__(self) -> None:
        self._said = time.monotonic()

    def __call__(self, tally: AuditProgress) -> None:
        if time.monotonic() - self._said < _EVERY and (tally.done < tally.total or tally.total < _MANY):
            return
        self._said = time.monotonic()
        bad = f", {tally.unreached} unreachable" if tally.unreached else ""
        print_line(f"  {tally.done} of {format_count(tally.total, 'runtime')} audited{bad}", sys.stderr)


def _fails(report: AuditReport, threshold: str) -> bool:
    return threshold != "never" and report.at_least(Severity(threshold))


# files


def _ignores(path: str | None) -> tuple[IgnoreEntry, ...]:
    from kymatui.domain.audit.ignores import read_ignores

    if path is None:
        return ()
    try:
        content = load_exactly(_content(path))
    except YamlError as error:
        raise ConfigurationError(f"{path} is not valid YAML: {error.summary}") from None
    return read_ignores(content, path)


def _baseline(path: str | None) -> Baseline | None:
    if path is None:
        return None
    try:
        return read_baseline(read_json(_content(path)), path)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ConfigurationError(
            f"{path} is not a baseline", hint="`kymatui audit --save-baseline FILE` writes one"
        ) from error


def _content(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"cannot read {path}: {error_reason(error)}") from error


def _save(path: Path, report: AuditReport) -> None:
    from kymatui.cli.output.audit_formats import as_json

    write_file(path, json.dumps(as_json(report), indent=2) + "\n")


# answers


def _text(report: AuditReport, args: argparse.Namespace) -> str:
    from kymatui.cli.output import audit_formats

    form = args.output
    if form == "sarif":
        return document(audit_formats.as_sarif(report), "json")
    if form == "junit":
        return audit_formats.as_junit(report)
    if form == "html":
        return audit_formats.as_html(report)
    draw = markdown if form == "md" else table
    rules = {item.rule.id: item.rule for item in report.findings}
    remedies = [draw(("RULE", "WHAT TO DO"), [[rule.id, rule.remedy] for rule in rules.values()])] if rules else []
    ends = [*_sections(report, form), *([NO_MODULES] if report.is_empty else []), summary(report)]
    listing: Listing[AuditFinding] = Listing(
        columns=FINDING_COLUMNS,
        entries=report.findings,
        rows=lambda finding: _rows(report, finding, form),
        document=lambda findings: audit_formats.as_json(replace(report, findings=tuple(findings))),
        name=lambda item: item.object,
        below=(*remedies, *ends),
        empty="\n\n".join(ends),
    )
    return render(listing, args)


def _sections(report: AuditReport, form: str) -> list[str]:
    """Return the other parts of the report: all of them in Markdown; in a table those that change with the cluster."""
    if form != "md":
        tables = [
            f"{part.title}\n{table([name.upper() for name in part.header], part.rows)}"
            for part in changing_sections(report)
        ]
        return [*tables, "\n".join(f"{name}: {sanitize(value)}" for name, value in about_audit(report).rows)]
    parts = (*changing_sections(report), about_audit(report), *fixed_sections(report))
    return [f"## {part.title}\n\n{markdown(part.header, part.rows)}" for part in parts]


def _rows(report: AuditReport, finding: AuditFinding, form: str) -> list[FindingEntry]:
    """Return the finding; and below it, or in a document behind it, where exactly and what stands there."""
    first = FindingEntry(finding, report.taken_at)
    if finding.path in finding.message and finding.value in finding.message:
        return [first]
    difference = " = ".join(part for part in (finding.path, finding.value) if part)
    if form == "md":
        return [replace(first, place=difference)]
    return [first, replace(first, place=difference, is_place=True)]


def summary(report: AuditReport) -> str:
    """Return how much was found, in one line."""
    return f"{report.cluster}: {count_findings(report)}"


def _list_rules(args: argparse.Namespace) -> int:
    from kymatui.domain.audit.report import RULES

    if args.output in _REPORTS:
        raise UsageError(f"cannot print rules as {args.output}", hint="use -o table, wide, name, md, json or yaml")
    listing: Listing[AuditRule] = Listing(
        columns=RULE_COLUMNS,
        entries=RULES,
        document=lambda rules: {"rules": [_rule_json(rule) for rule in rules]},
        item=_rule_json,
        name=lambda rule: rule.id,
    )
    ListPrinter(args).show(listing)
    return 0


def _explain(args: argparse.Namespace) -> int:
    if not args.rule:
        raise UsageError("missing rule", hint="run `kymatui audit explain RULE`; `kymatui audit rules` lists the rules")
    rule = _require_rule(args.rule)
    if args.output == "name":
        print_line(rule.id)
    elif not is_table(args.output) and args.output not in _REPORTS:
        print_text(render_document(_rule_json(rule), args.output))
    else:
        print_line(f"{rule.id} ({rule.severity.value}): {rule.title}")
        print_text("")
        print_line(f"Why: {rule.why}")
        print_line(f"What to do: {rule.remedy}")
    return 0


def _require_rule(identifier: str) -> AuditRule:
    """Return the rule with an id. Raise UnknownNameError if there is none."""
    from kymatui.domain.audit.report import RULES, find_rule

    rule = find_rule(identifier)
    if rule is None:
        known = [rule.id for rule in RULES]
        raise UnknownNameError.near("rule", identifier, known, hint="`kymatui audit rules` lists the rules")
    return rule


def _rule_json(rule: AuditRule) -> dict[str, Any]:
    return row_document(RULE_COLUMNS, rule)
