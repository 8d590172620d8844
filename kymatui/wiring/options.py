"""Which cluster a front end wants, and what may be done to it."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """The words of the command line; "" where a person said nothing.

    `catalogs` are sources of community modules outside of the cluster: URLs, files, folders.
    """

    kubeconfig: str = ""
    context: str = ""
    namespace: str = ""
    read_only: bool = False
    catalogs: tuple[str, ...] = ()

    @classmethod
    def of(cls, args: argparse.Namespace, environment: Mapping[str, str] | None = None) -> SessionOptions:
        """Takes the global options that argparse found, and the environment's word on writing."""
        return cls(
            kubeconfig=getattr(args, "kubeconfig", None) or "",
            context=getattr(args, "context", None) or "",
            namespace=getattr(args, "namespace", None) or "",
            read_only=bool(getattr(args, "read_only", False)) or read_only_wanted(environment),
            catalogs=(*(getattr(args, "catalog", None) or ()), *(getattr(args, "more_catalogs", None) or ())),
        )


def read_only_wanted(environment: Mapping[str, str] | None = None) -> bool:
    """Whether KYMATUI_READ_ONLY says so; anything but nothing, 0, false and no does, so that no typo opens the gate."""
    environment = os.environ if environment is None else environment
    return environment.get("KYMATUI_READ_ONLY", "").strip().lower() not in ("", "0", "false", "no", "off")
