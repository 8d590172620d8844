"""The template functions of Helm and Sprig 3.3.0, one module per family.

`FUNCTIONS` has all of them by name; a family is imported when its first function is used, because most charts use few
of them and some families are slow to import (certificates, TOML). Clock, randomness and names come from the
Environment of a rendering; no function reads files, environment variables or Python objects. `env` and `expandenv` do
not exist, as in Helm. The functions of the language itself (include, tpl, required, fail, lookup, printf, …) are in
`kymatui.helm.language`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kymatui.helm.govalues.types import Function

FAMILIES: Final[Mapping[str, str]] = {
    "strings": """
        abbrev abbrevboth cat contains hasPrefix hasSuffix hello indent initials join lower nindent nospace
        plural quote repeat replace sortAlpha split splitList splitn squote substr swapcase title toString
        toStrings trim trimAll trimPrefix trimSuffix trimall trunc untitle upper wrap wrapWith
    """,
    "casing": """
        camelcase kebabcase snakecase
    """,
    "lists": """
        append chunk compact concat first has initial last list mustAppend mustChunk mustCompact mustFirst
        mustHas mustInitial mustLast mustPrepend mustPush mustRest mustReverse mustSlice mustUniq
        mustWithout prepend push rest reverse slice tuple uniq without
    """,
    "dicts": """
        deepCopy dict dig get hasKey keys merge mergeOverwrite mustDeepCopy mustMerge mustMergeOverwrite
        omit pick pluck set unset values
    """,
    "defaults": """
        all any coalesce default empty ternary
    """,
    "reflection": """
        deepEqual kindIs kindOf typeIs typeIsLike typeOf
    """,
    "arithmetic": """
        add add1 add1f addf atoi biggest ceil div divf float64 floor int int64 max maxf min minf mod mul
        mulf round seq sub subf toDecimal until untilStep
    """,
    "text.encoding": """
        b32dec b32enc b64dec b64enc
    """,
    "crypto.hashes": """
        adler32sum sha1sum sha256sum sha512sum
    """,
    "crypto.randomness": """
        randAlpha randAlphaNum randAscii randBytes randInt randNumeric shuffle uuidv4
    """,
    "text.regexes": """
        mustRegexFind mustRegexFindAll mustRegexMatch mustRegexReplaceAll mustRegexReplaceAllLiteral
        mustRegexSplit regexFind regexFindAll regexMatch regexQuoteMeta regexReplaceAll
        regexReplaceAllLiteral regexSplit
    """,
    "versions": """
        semver semverCompare
    """,
    "text.paths": """
        base clean dir ext isAbs osBase osClean osDir osExt osIsAbs
    """,
    "text.urls": """
        urlJoin urlParse
    """,
    "text.networks": """
        getHostByName
    """,
    "dates": """
        ago date dateInZone dateModify date_in_zone date_modify duration durationRound htmlDate
        htmlDateInZone mustDateModify mustToDate must_date_modify now toDate unixEpoch
    """,
    "data": """
        fromJson fromJsonArray fromToml fromYaml fromYamlArray mustFromJson mustToJson mustToPrettyJson
        mustToRawJson mustToYaml toJson toPrettyJson toRawJson toToml toYaml toYamlPretty
    """,
    "crypto.secrets": """
        bcrypt buildCustomCert decryptAES derivePassword encryptAES genCA genCAWithKey genPrivateKey
        genSelfSignedCert genSelfSignedCertWithKey genSignedCert genSignedCertWithKey htpasswd
    """,
}
"""The modules of this package, and the functions in each."""

_HOMES: Final[Mapping[str, str]] = {name: family for family, names in FAMILIES.items() for name in names.split()}


class Functions(Mapping[str, "Function"]):
    """All functions by name; each family is imported on first use."""

    def __init__(self) -> None:
        self._loaded: dict[str, Function] = {}

    def __getitem__(self, name: str) -> Function:
        if name not in self._loaded:
            self._loaded.update(import_module(f"{__name__}.{_HOMES[name]}").FUNCTIONS)
        return self._loaded[name]

    def __contains__(self, name: object) -> bool:
        return name in _HOMES

    def __iter__(self) -> Iterator[str]:
        return iter(_HOMES)

    def __len__(self) -> int:
        return len(_HOMES)

    def fingerprint(self) -> bytes:
        """Return a fingerprint of the functions, for caches that depend on their signatures."""
        from kymatui.helm.language.caching import signature_of_sources

        return signature_of_sources(os.path.dirname(__file__))


FUNCTIONS: Final[Mapping[str, Function]] = Functions()
"""Every function by the name that templates write."""
