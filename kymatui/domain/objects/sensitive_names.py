"""Which names of fields, variables, options and headers say that their value is a secret.

A name is read as its words: `clientSecret`, `CLIENT_SECRET` and `client-secret` are the same. A word such as `password`
makes a name sensitive wherever it stands, unless the name ends with what no secret is: `passwordPolicy`, `secretName`.
"""

from __future__ import annotations

import re
from enum import Enum
from functools import lru_cache
from itertools import pairwise
from typing import Final

_LONGEST: Final = 200  # characters of a name; longer ones are texts


class Sensitivity(Enum):
    """What a name hides: nothing, a single value, or also lists and maps below it."""

    NONE = 0
    SCALAR = 1
    DEEP = 2


def word_set(words: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(words.split())


_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_OTHERS: Final = re.compile(r"[^A-Za-z0-9]+")
_DEEP: Final = re.compile(
    r"passw(?:or)?d|passwort|kennwort|passphrase|passcode|secret|token|credential|kubeconfig|dockerconfig|dockercfg|htpasswd"
    r"|pgpass|netrc|mnemonic|(?:api|access|private|secret|shared|signing|encryption|master|auth|ssh|account)keys?"
    r"|conn(?:ection)?str(?:ing)?"
)
_DEEP_WORDS: Final = word_set("pwd pwds creds cred dsn dsns")
_SCALAR: Final = word_set(
    "pass pw auth authorization bearer jwt cookie cookies session sid otp totp pin salt hmac passkey sas pat psk basic"
)
_SCALAR_ENDINGS: Final = ("pass", "pwd", "pw", "auth", "cookie")
_SCALAR_EXCEPTIONS: Final = word_set("bypass compass trespass underpass overpass oauth unauth preauth")
_KEY_EXCEPTIONS: Final = word_set("monkey turkey hotkey publickey publickeys")
_KEY_OF: Final = word_set(
    "topology label labels annotation public config configmap foreign partition sort object cache map"
    " field group index unique hash range metric header any by item env resource selector data value owner name merge"
    " list match condition status type version search lookup row column event property attribute tag toleration"
    " finalizer record host"
)
"""Words before `key` with which it is a name of something: `topologyKey`, `publicKey`."""
_FILLERS: Final = word_set(
    "value values val data text string str b64 base64 encoded plain raw content contents pem json yaml yml txt hash"
    " bytes old new current previous default main base"
)
"""Last words that say nothing about the value: `TOKEN_VALUE`."""
_HARMLESS_LAST: Final = word_set(
    "name names namespace namespaces ref refs reference references file files filename path paths dir directory folder"
    " mount mounts volume type types kind kinds url urls uri uris endpoint endpoints host hosts hostname port ports"
    " enabled enable disabled disable required optional mode modes method methods policy policies expiration expiry"
    " expires ttl seconds minutes hours days duration timeout period length size count limit limits algorithm"
    " algorithms class classes provider providers issuer audience audiences version versions format selector selectors"
    " template templates rotation interval revision status state states review reviews request requests labels"
    " annotations strategy store stores operator controller manager service reason message condition conditions scope"
    " scopes supported allowed only affinity per rate usage used max min schema field fields column index prefix"
    " suffix encoding charset"
)
_PAIRS: Final = {
    ("connection", "string"),
    ("conn", "string"),
    ("conn", "str"),
    ("id", "rsa"),
    ("id", "dsa"),
    ("id", "ecdsa"),
    ("id", "ed25519"),
    ("shared", "access"),
    ("docker", "config"),
}
_HARMLESS_FIRST: Final = word_set("existing automount")


@lru_cache(maxsize=8192)
def sensitivity(name: str) -> Sensitivity:
    """Return what a name says of its value."""
    words = _parts_of(name)
    if not words or words[0] in _HARMLESS_FIRST or words[-1] in _HARMLESS_LAST or _is_reference(words[-1]):
        return Sensitivity.NONE
    if any(map(_is_deep, words)) or _has_key(words) or not _PAIRS.isdisjoint(pairwise(words)):
        return Sensitivity.DEEP
    while len(words) > 1 and (words[-1] in _FILLERS or words[-1].isdigit()):
        words = words[:-1]
    last = words[-1]
    if last in _SCALAR or (last.endswith(_SCALAR_ENDINGS) and last not in _SCALAR_EXCEPTIONS):
        return Sensitivity.SCALAR
    if words[-2:] == ["session", "id"]:
        return Sensitivity.SCALAR
    return Sensitivity.NONE


def is_sensitive(name: str) -> bool:
    """Return whether a single value of a field of this name is a secret: `clientSecret` is, `secretName` is not."""
    return sensitivity(name) is not Sensitivity.NONE


def is_harmless(name: str) -> bool:
    """Return whether a name ends with what no secret is: `algorithm`, `rotationPolicy`, `expirationSeconds`."""
    words = _parts_of(name)
    return bool(words) and words[-1] in _HARMLESS_LAST


def names_webhook(name: str) -> bool:
    """Return whether a URL of this name is a secret from its path on: `SLACK_WEBHOOK_URL`."""
    return any(word in ("webhook", "webhooks", "hook", "incoming") for word in _parts_of(name))


def is_header_line(name: str) -> bool:
    """Return whether the value of a name is the rest of its line: `Authorization: Bearer …`, `Cookie: a=b; c=d`."""
    words = _parts_of(name)
    return bool(words) and any(word in ("authorization", "cookie", "cookies") for word in words)


def _parts_of(name: str) -> list[str]:
    if len(name) > _LONGEST:
        return []
    domain, _, last = name.rpartition("/")
    name = last if "." in domain else name  # the domain of a label says nothing of its value
    return [word.lower() for word in _OTHERS.split(_CAMEL.sub("-", name)) if word]


def _is_reference(word: str) -> bool:
    """Return whether a word is glued from a sensitive one and a harmless end: `secretname`, `tokenurl`."""
    match = _DEEP.match(word)
    return match is not None and word[match.end() :].removeprefix("key") in _HARMLESS_LAST


def _is_deep(word: str) -> bool:
    return word in _DEEP_WORDS or _DEEP.search(word) is not None


def _has_key(words: list[str]) -> bool:
    """Return whether a word is a key that opens something: `signingKey`, `ENCRYPTION_KEY`, `sshkey`."""
    for before, word in zip(["", *words], words, strict=False):
        if word in ("key", "keys"):
            if before and before not in _KEY_OF and not before.isdigit():
                return True
        elif word.endswith(("key", "keys")) and len(word) > 5 and word not in _KEY_EXCEPTIONS:
            is_name = word.removesuffix("s").removesuffix("key") in _KEY_OF
            if not is_name:
                return True
    return False
