"""`kymatui bundle`: modules as components in registries, one file a subcommand; what they do is in actions/bundle."""

from __future__ import annotations

from kymatui.cli.subcommands import Subcommands

SUBCOMMANDS = Subcommands(
    "kymatui.cli.commands.bundle",
    {
        "create": "build a module, publish its component",
        "where": "print the repository and tag of a component version",
    },
)
configure, run = SUBCOMMANDS.configure, SUBCOMMANDS.run
