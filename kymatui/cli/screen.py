"""`kymatui` without a command: the terminal UI."""

from __future__ import annotations

import argparse

from kymatui.errors import UsageError


def configure(parser: argparse.ArgumentParser) -> None:
    """The screen takes the cluster options alone."""
    del parser


def run(args: argparse.Namespace) -> int:
    raise UsageError("the screen is not built yet")
