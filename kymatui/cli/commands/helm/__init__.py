"""`kymatui helm template|lint|show|pull`: helm's commands, flags and output, without helm."""

from __future__ import annotations

from kymatui.cli.subcommands import Subcommands

SUBCOMMANDS = Subcommands(
    "kymatui.cli.commands.helm",
    {
        "template": "render a chart and print the objects",
        "lint": "examine charts for possible issues",
        "show": "print chart metadata, values, readme or CRDs",
        "pull": "download a chart archive",
    },
)
configure, run = SUBCOMMANDS.configure, SUBCOMMANDS.run
