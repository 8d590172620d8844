"""`kymatui help` and `kymatui version`."""

from __future__ import annotations

import argparse
import platform
import sys
from typing import Any

from kymatui import __version__
from kymatui.cli.cluster_options import add_option, add_output
from kymatui.cli.command_help import commands_like
from kymatui.cli.command_table import by_name
from kymatui.cli.help_topics import TOPICS
from kymatui.cli.output.printing import document, print_text
from kymatui.cli.parser import build_parser
from kymatui.errors import UnknownNameError, did_you_mean


class HelpCommand:
    """The help of a command, a topic, or the list of both."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_option(parser, "words COMMAND|TOPIC", "command or topic to print (default: list both)", nargs="*")

    def run(self, args: argparse.Namespace) -> int:
        words = args.words
        if not words:
            print_text(build_parser(["--help"]).format_help().rstrip())
            lines = (f"  {name:20}  {topic.help}" for name, topic in TOPICS.items())
            print_text("\n".join(["", "topics (kymatui help TOPIC):", *lines]))
            return 0
        if words[0] in TOPICS and len(words) == 1:
            print_text(TOPICS[words[0]].text())
            return 0
        if by_name(words[0]) is None:
            near = did_you_mean(commands_like(words[0], TOPICS))
            raise UnknownNameError(f'no command or topic "{words[0]}"{near}', hint="run `kymatui help`")
        try:
            build_parser([*words, "--help"]).parse_args([*words, "--help"])
        except SystemExit as ended:  # argparse ends the process after it has printed help
            return int(ended.code or 0)
        return 0


class VersionCommand:
    """kymatui's version with those of what it runs on, for reports."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_output(parser, ("table", "json", "yaml"))

    def run(self, args: argparse.Namespace) -> int:
        from importlib.metadata import PackageNotFoundError, version

        def installed(name: str) -> str | None:
            try:
                return version(name)
            except PackageNotFoundError:
                return None

        versions: dict[str, Any] = {
            "kymatui": __version__,
            "python": platform.python_version(),
            "textual": installed("textual"),
            "kubernetes": installed("kubernetes"),
            "platform": f"{sys.platform} {platform.machine()}",
        }
        if args.output == "table":
            print_text("\n".join(f"{name:12}{value or 'not installed'}" for name, value in versions.items()))
        else:
            print_text(document(versions, args.output))
        return 0


HELP, VERSION = HelpCommand(), VersionCommand()
