"""`kymatui helm template [NAME] CHART`."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from kymatui import helm
from kymatui.cli.cluster_options import add_option, add_options
from kymatui.cli.commands.helm.chart_options import add_source, load, read_values, value_origin
from kymatui.cli.options.chart_values import add_values
from kymatui.cli.output.printing import print_line
from kymatui.cli.output.terminal import print_content
from kymatui.errors import HelmError, UsageError
from kymatui.helm.language.environment import Environment
from kymatui.own_files import write_file
from kymatui.sessions.charts import cached_templates

if TYPE_CHECKING:
    from kymatui.helm.rendering.render import Rendered

# flags of helm that change nothing of what is printed; scripts that give them go on working
_IDLE_FLAGS = (
    *("--create-namespace", "--disable-openapi-validation", "--force-conflicts", "--force-replace", "--hide-notes"),
    *("--render-subchart-notes", "--replace", "--rollback-on-failure", "--take-ownership", "--wait-for-jobs"),
)
_IDLE_OPTIONS = ("--description", "--labels", "-l", "--timeout")


def configure(parser: argparse.ArgumentParser) -> None:
    add_option(
        parser,
        "words [NAME] CHART",
        "name of the release (default: release-name), and chart: path, URL, oci://…, or a name in --repo",
        nargs="+",
    )
    add_option(parser, "-g --generate-name", "generate the name of the release")
    add_option(parser, "--name-template TEXT", "template of the release's name", default="")
    add_option(parser, "-n --namespace NS", "namespace of the release (default: default)", default="default")
    options = {
        "--kube-version VERSION": "Kubernetes version in .Capabilities.KubeVersion",
        "-a --api-versions LIST…": "API versions in .Capabilities.APIVersions",
        "--include-crds": "also print the files in crds/",
        "--skip-crds": "no effect here: CRDs are printed only with --include-crds",
        "--is-upgrade": "render as an upgrade",
        "--no-hooks": "leave hooks out",
        "--skip-tests": "leave test hooks out",
        "--enable-dns": "allow DNS lookups in getHostByName",
        "--skip-schema-validation": "do not check values.schema.json",
        "-s --show-only TEMPLATE…": "print only this template; repeatable",
        "--output-dir DIR": "write files to this folder instead of printing",
        "--release-name": "add the name of the release to the path of --output-dir",
        "--debug": "print the output even if it is not valid YAML",
    }
    add_options(parser, options, "")
    add_option(parser, "--dry-run", argparse.SUPPRESS, nargs="?", const="client", choices=("client", "none"))
    add_option(parser, "--wait", argparse.SUPPRESS, nargs="?", const="watcher")
    for flag in _IDLE_FLAGS:
        parser.add_argument(flag, action="store_true", help=argparse.SUPPRESS)
    for option in _IDLE_OPTIONS:
        parser.add_argument(option, help=argparse.SUPPRESS)
    add_values(parser.add_argument_group("values"))
    add_source(parser)


def run(args: argparse.Namespace) -> int:
    from kymatui.helm.rendering.manifests import ManifestError, check_release_name
    from kymatui.helm.rendering.output import files, manifest_text, only

    name, reference = _names(args)
    chart = load(args, reference)
    check_release_name(name)
    helm.check_installable(chart)
    rendered = _render(args, name, chart)
    for warning in rendered.warnings:
        print_line(f"warning: {warning.message}{value_origin(args, warning.key)}", sys.stderr)
    try:
        text = manifest_text(rendered, hooks=not args.no_hooks, tests=not args.skip_tests)
    except ManifestError as error:
        if args.debug:
            print_content("".join(files(sorted(rendered.files.items())).values()))
        else:
            error.hint = "Use --debug flag to render out invalid YAML"
        raise
    if args.output_dir:
        _write(args, name, rendered)
        text = "\n"  # as in helm, which then finds nothing that --show-only names
    print_content(only(text, args.show_only) if args.show_only else text)
    return 0


def _render(args: argparse.Namespace, name: str, chart: object) -> Rendered:
    from kymatui.helm.charts.chart import Chart
    from kymatui.helm.rendering.capabilities import KUBE_VERSION
    from kymatui.helm.rendering.render import render

    assert isinstance(chart, Chart)
    return render(
        chart,
        read_values(args),
        release_name=name,
        namespace=args.namespace or "default",
        is_upgrade=args.is_upgrade,
        kube_version=args.kube_version or KUBE_VERSION,
        api_versions=[part for line in args.api_versions for part in line.split(",") if part],
        include_crds=args.include_crds,
        check_schema=not args.skip_schema_validation,
        check_manifests=False,
        environment=Environment(resolve=_resolve if args.enable_dns else None),
        cache=cached_templates(),
    )


def _names(args: argparse.Namespace) -> tuple[str, str]:
    """Return the release's name and the chart."""
    words = args.words
    if len(words) > 2:
        raise UsageError(
            f"expected at most two arguments, unexpected arguments: {', '.join(words[2:])}",
            hint="kymatui helm template [NAME] CHART",
        )
    if len(words) == 2:
        for flag in ("generate_name", "name_template"):
            if getattr(args, flag):
                raise UsageError(f"cannot set --{flag.replace('_', '-')} and also specify a name")
        return words[0], words[1]
    if args.name_template:
        return _named_by(args.name_template), words[0]
    if args.generate_name:
        return f"{Path(words[0]).name.partition('.tgz')[0] or 'chart'}-{int(time.time())}", words[0]
    return "release-name", words[0]


def _named_by(template: str) -> str:
    """Return a name from a template without values, as `--name-template "web-{{ randAlpha 4 | lower }}"`."""
    from kymatui.helm.functions import FUNCTIONS
    from kymatui.helm.language.templates import TemplateSet

    return TemplateSet.parse({"name-template": template}, FUNCTIONS).execute("name-template", {}, Environment())


def _resolve(host: str) -> str:
    import socket

    try:
        return socket.gethostbyname(host)
    except OSError:  # as Helm: a host that is not found is an empty text
        return ""


def _write(args: argparse.Namespace, name: str, rendered: Rendered) -> None:
    """Write one file a template, as helm does, and never outside of the folder; says so for each document."""
    from kymatui.helm.rendering.output import files, parts

    folder = Path(args.output_dir)
    documents = parts(rendered, hooks=not args.no_hooks, tests=not args.skip_tests)
    below = folder / name if args.release_name else folder
    crds = len(rendered.crds)  # they come first, and not below the release's name
    for path, text in files(documents[:crds]).items():
        _write_file(folder, path, text)
    for path, text in files(documents[crds:]).items():
        _write_file(below, path, text)
    for position, (path, _) in enumerate(documents):
        print_line(f"wrote {(folder if position < crds else below) / path}")


def _write_file(root: Path, path: str, text: str) -> None:
    target = root / path
    if not target.resolve().is_relative_to(root.resolve()):
        raise HelmError(f"{path} leads out of {root}; nothing of it was written")
    try:
        write_file(target, text.encode("utf-8", "surrogateescape"), private=False)
    except OSError as error:
        raise HelmError(f"{target} cannot be written: {error.strerror or error}") from error
