"""The functions that Helm gives to templates: Sprig 3.3.0 and its own, one module for each family.

`FUNCTIONS` has them all by name. Clock, randomness and names come from the Environment of a rendering; no function
sees a file, a variable of the process or anything of Python. `env` and `expandenv` do not exist, as in Helm. What the
language itself needs (include, tpl, required, fail, lookup, printf, …) is in `kymatui.helm.language`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from kymatui.helm.functions import (
    arithmetic,
    casing,
    certificates,
    data,
    dates,
    defaults,
    dicts,
    encoding,
    hashes,
    keys,
    lists,
    networks,
    passwords,
    paths,
    randomness,
    reflection,
    regexes,
    strings,
    urls,
    versions,
)
from kymatui.helm.govalues.types import Function

FUNCTIONS: Final[Mapping[str, Function]] = MappingProxyType(
    strings.FUNCTIONS
    | casing.FUNCTIONS
    | lists.FUNCTIONS
    | dicts.FUNCTIONS
    | defaults.FUNCTIONS
    | reflection.FUNCTIONS
    | arithmetic.FUNCTIONS
    | encoding.FUNCTIONS
    | hashes.FUNCTIONS
    | randomness.FUNCTIONS
    | regexes.FUNCTIONS
    | versions.FUNCTIONS
    | paths.FUNCTIONS
    | urls.FUNCTIONS
    | networks.FUNCTIONS
    | dates.FUNCTIONS
    | data.FUNCTIONS
    | passwords.FUNCTIONS
    | keys.FUNCTIONS
    | certificates.FUNCTIONS
)
"""Every function by the name that templates write."""
