"""`kymatui adopt NAME`: what somebody else installed, or lifecycle-manager has let go of, becomes kymatui's.

It is the installation of the very version that is there; who owns what is in the plan, and nothing is deleted.
"""

from __future__ import annotations

import argparse

from kymatui.cli.cluster_options import add_option
from kymatui.cli.options.direct_install import add_intent, add_running, add_source, open_context
from kymatui.cli.options.unknown_names import refuse_versions


def configure(parser: argparse.ArgumentParser) -> None:
    what = "installed module; several names make one plan"
    add_option(parser, "names NAME", what, nargs="+")
    add_source(parser)
    add_intent(parser)
    add_running(parser)
    parser.set_defaults(direct=True)


def run(args: argparse.Namespace) -> int:
    from kymatui.actions.modules.install_plan import Adoption
    from kymatui.cli.commands.modules.install_run import install_modules, refuse_words_for_one

    names = list(dict.fromkeys(args.names))
    refuse_words_for_one(args, names)
    refuse_versions(names, "run `kymatui adopt NAME`, then `kymatui upgrade NAME --version VERSION`")
    with open_context(args, once=args.dry_run) as context:
        named = [(name, context.source, context.namespace) for name in names]
        return install_modules(context, "adopt", named, Adoption.AS_IS)
