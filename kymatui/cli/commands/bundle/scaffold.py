"""`kymatui bundle scaffold`: writes a module config and the files that it names."""

from __future__ import annotations

import argparse
import posixpath
import shlex

from kymatui.cli.cluster_options import add_option
from kymatui.cli.commands.bundle.create import CONFIG as CREATED_CONFIG
from kymatui.cli.output.printing import print_line
from kymatui.publishing.places import open_sources
from kymatui.publishing.scaffold import SCAFFOLDED_CONFIG, ScaffoldRequest, scaffold_module
from kymatui.sessions.fetching import FetchOptions

MANIFEST = "manifest.yaml"
DEFAULT_CR = "default-cr.yaml"
SECURITY = "sec-scanners-config.yaml"
NAME = "kyma-project.io/module/mymodule"
VERSION = "0.0.1"


def configure(parser: argparse.ArgumentParser) -> None:
    add_option(parser, "--module-team TEAM", "team that is responsible: kyma/TEAM (required)", default="")
    add_option(parser, "--module-name NAME", f"name of the module (default: {NAME})", default=NAME)
    add_option(parser, "--module-version VERSION", f"version of the module (default: {VERSION})", default=VERSION)
    add_option(parser, "-d --directory DIR", "folder to write to (default: .)", default=".")
    add_option(
        parser, "-c --config-file NAME", f"module config (default: {SCAFFOLDED_CONFIG})", default=SCAFFOLDED_CONFIG
    )
    add_option(parser, "-o --overwrite", "replace an existing module config")
    add_option(parser, "--gen-manifest NAME", f"manifest, kept if it exists (default: {MANIFEST})", default=MANIFEST)
    add_option(
        parser,
        "--gen-default-cr NAME",
        f"also name a default CR, kept if it exists (without NAME: {DEFAULT_CR})",
        nargs="?",
        const=DEFAULT_CR,
        default="",
    )
    add_option(
        parser,
        "--gen-security-config NAME",
        f"also name a security config, kept if it exists (without NAME: {SECURITY})",
        nargs="?",
        const=SECURITY,
        default="",
    )


def run(args: argparse.Namespace) -> int:
    request = ScaffoldRequest(
        folder=args.directory,
        config=args.config_file,
        manifest=args.gen_manifest,
        name=args.module_name,
        version=args.module_version,
        team=args.module_team,
        default_cr=args.gen_default_cr,
        security=args.gen_security_config,
        overwrite=args.overwrite,
    )
    files = scaffold_module(request, open_sources(FetchOptions()))
    for outcome, paths in (("kept", files.kept), ("written", files.written)):
        for path in paths:
            print_line(f"{outcome:<10}{path}")
    config = posixpath.normpath(files.written[-1])
    lint = "kymatui bundle lint" + ("" if config == CREATED_CONFIG else f" -c {shlex.quote(config)}")
    print_line(f"next      fill in the files until `{lint}` finds no errors")
    return 0
