"""Flags that several of helm's commands share: where a chart comes from."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kymatui import helm
from kymatui.cli.cluster_options import add_option
from kymatui.cli.options.chart_values import value_flags
from kymatui.cli.output.printing import print_line
from kymatui.errors import HelmError
from kymatui.helm.charts.values import path_advice
from kymatui.sessions.charts import fetch_chart

if TYPE_CHECKING:
    from kymatui.helm.charts.chart import Chart


def read_values(args: argparse.Namespace) -> dict[str, Any]:
    """Return the values of all flags, in helm's order of precedence."""
    return helm.merge_values(**value_flags(args))


def value_origin(args: argparse.Namespace, key: str) -> str:
    """Return the flag that set a value, with its file, in parentheses; "" if none did. Values may be secret."""
    from kymatui.helm.charts.dependencies import has_value

    if not key:
        return ""
    flags = value_flags(args)
    for name in ("set_literal", "set_file", "set_string", "set", "set_json", "value_files"):  # the last one wins
        for value in reversed(flags[name]):
            if has_value(helm.merge_values(**{name: (value,)}), key):
                return f" (-f {value})" if name == "value_files" else f" (--{name.replace('_', '-')})"
    return ""


def add_source(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("chart source")
    add_option(group, "--follow-links", "also follow symbolic links that lead out of the chart's repository")
    add_option(group, "--repo URL", "chart repository", default="")
    add_option(group, "--version RANGE", "chart version or range (default: newest stable)", default="")
    add_option(group, "--devel", "also accept pre-releases; same as --version '>0.0.0-0'")
    add_option(group, "--username NAME", "user of the repository or registry", default="")
    add_option(group, "--password TEXT", "password; prefer the environment variable KYMATUI_HELM_PASSWORD", default="")
    add_option(group, "--ca-file FILE", "CA certificates (default: the system's)", default=None)
    add_option(group, "--cert-file FILE", "client certificate", default="")
    add_option(group, "--key-file FILE", "key of the client certificate", default="")
    add_option(group, "--insecure-skip-tls-verify", "do not verify the server's certificate")
    add_option(group, "--pass-credentials", "send credentials to all hosts that the repository refers to")
    add_option(group, "--plain-http", "use HTTP without TLS for an OCI registry")
    add_option(group, "--verify", "refuse the chart without a valid signed provenance")
    add_option(group, "--keyring FILE", "OpenPGP certificates of signers, for --verify", default=None)


def wanted_version(args: argparse.Namespace) -> str:
    return args.version or (">0.0.0-0" if args.devel else "")


def fetch(args: argparse.Namespace, reference: str, *, provenance: bool = False) -> Any:
    """Return the packed chart that a reference means; see `kymatui.sessions.charts.fetch_chart`."""
    fetched = fetch_chart(
        reference,
        version=wanted_version(args),
        repository=args.repo,
        username=args.username,
        password=args.password or os.environ.get("KYMATUI_HELM_PASSWORD", ""),
        ca=args.ca_file,
        plain_http=args.plain_http,
        certificate=_certificate(args),
        unverified=args.insecure_skip_tls_verify,
        everywhere=args.pass_credentials,
        provenance=provenance or args.verify,
        flags=("--ca-file FILE", "--plain-http"),
    )
    for warning in fetched.warnings:
        print_line(f"Warning: {warning}", sys.stderr)
    if fetched.manifest:
        print_line(f"Pulled: {fetched.source.removeprefix('oci://')}", sys.stderr)
        print_line(f"Digest: {fetched.manifest}", sys.stderr)
    return fetched


def _certificate(args: argparse.Namespace) -> tuple[str, str] | None:
    if not args.cert_file and not args.key_file:
        return None
    for flag, file in (("--cert-file", args.cert_file), ("--key-file", args.key_file)):
        if not Path(file).is_file():
            raise HelmError(
                f"{flag}: {file or 'no file'} cannot be read", hint="use --cert-file and --key-file together"
            )
    return args.cert_file, args.key_file


def load(args: argparse.Namespace, reference: str) -> Chart:
    """Return a chart from a path here, else from where the flags say; verified where that is asked."""
    path = Path(reference)
    if path.exists() and not args.repo:
        if args.verify:
            verify_file(path, args.keyring)
        return helm.load_chart(path, links_out=args.follow_links)
    if "://" not in reference and not args.repo:
        raise HelmError(f'path "{reference}" not found', hint=path_advice(reference))
    fetched = fetch(args, reference)
    if args.verify:
        verify_bytes(fetched.content, fetched.filename, fetched.provenance, args.keyring)
    return helm.load_archive(fetched.content)


def verify_file(path: Path, keyring: str | None) -> None:
    """Verify an archive with the `.prov` beside it. Raise HelmError if the signature does not match."""
    if path.is_dir():
        raise HelmError("unpacked charts cannot be verified")
    provenance = path.with_name(f"{path.name}.prov")
    if not provenance.is_file():
        raise HelmError(f"could not load provenance file {provenance}")
    verify_bytes(path.read_bytes(), path.name, provenance.read_bytes(), keyring)


def verify_bytes(content: bytes, filename: str, provenance: bytes | None, keyring: str | None) -> None:
    from kymatui.helm.charts.provenance import verify

    if keyring is None:
        raise HelmError("--verify needs a keyring", hint="use --keyring FILE with the signers' certificates")
    if provenance is None:
        raise HelmError(f"{filename} has no provenance")
    try:
        ring = Path(keyring).read_bytes()
    except OSError as error:
        raise HelmError(f"the keyring {keyring} cannot be read: {error.strerror or error}") from error
    verify(content, filename, provenance, ring)
