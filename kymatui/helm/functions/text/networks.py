"""getHostByName, the only function with network access, if the caller of the rendering allows it."""

from __future__ import annotations

from typing import Final

from kymatui.helm.functions.declaring import declare, table
from kymatui.helm.language.environment import Environment


def get_host_by_name(environment: Environment, name: str) -> str:
    return environment.resolve(name) if environment.resolve else ""


FUNCTIONS: Final = table((declare("getHostByName(string)", get_host_by_name, environment=True),))
