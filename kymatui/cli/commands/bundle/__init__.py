"""`kymatui bundle`: modules as components in registries, one file a subcommand; what they do is in actions."""

from __future__ import annotations

from kymatui.cli.subcommands import Subcommands

SUBCOMMANDS = Subcommands(
    "kymatui.cli.commands.bundle",
    {
        "scaffold": "write a module config and the files that it refers to",
        "lint": "report every problem of a module's sources, with file and line",
        "create": "build a module, publish its component",
        "dev": "publish and reinstall a module on every save",
        "template": "print the ModuleTemplate of a component version",
        "add": "create a copy of an image with more layers and labels",
        "copy": "copy a component or image to a registry, layout or archive",
        "diff": "compare two component versions, object by object",
        "list": "list the versions of a component or the tags of an image",
        "push": "push everything that an image layout or its archive holds",
        "pull": "write a component's content into a folder",
        "show": "print the resources and signatures of a component version",
        "sign": "add a signature to a component or image",
        "verify": "check the signatures and content of a component or image",
        "where": "print the repository and tag of a component version",
    },
)
configure, run = SUBCOMMANDS.configure, SUBCOMMANDS.run
