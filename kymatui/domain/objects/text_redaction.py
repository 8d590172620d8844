"""Secrets in texts: documents, shell lines, logs and messages."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Any, Final
from urllib.parse import unquote

from kymatui.domain.objects.redaction_rules import (
    ACCESS_KEY,
    ARGUMENT,
    ASSIGNMENT,
    AUTHORIZATION,
    EMAIL,
    ENCODED,
    HASH,
    PEM,
    RedactionRule,
    redacted,
)
from kymatui.domain.objects.sensitive_names import Sensitivity, is_header_line, is_sensitive, sensitivity
from kymatui.domain.objects.text_blocks import redact_lines
from kymatui.domain.objects.url_redaction import redact_queries, redact_urls
from kymatui.json_input import read_json_start

_DEEPEST: Final = 3  # levels of texts within encoded texts
_LONGEST_VALUE: Final = 65536  # characters of a quoted value; without an end its line is hidden
_LONGEST_PEM: Final = 20_000
_USUAL_JSON: Final = 4096  # characters of a document that are tried first, because each error counts lines up to it

_QUOTE: Final = r"""(?:\\{0,8}["'`]|&quot;|&\#34;|&\#39;|\\{1,8}u0022)"""
_COLOUR: Final = re.compile(r"\x1b\[[0-9;]{0,20}m")
_ASSIGNMENT: Final = re.compile(
    rf"""(?<![\w.$@])(?P<name>[A-Za-z_$@][\w.$@-]{{0,120}}+){_QUOTE}?[ \t]{{0,40}}"""
    r"""(?P<sign>=>|==|[?+:]?=|:(?!//))[ \t]{0,40}"""
)
_OPEN_QUOTE: Final = re.compile(_QUOTE)
_TRIPLE_QUOTES: Final = ('"""', "'''")
_STRING: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_BARE_WORD: Final = re.compile(r"""[^\s"'<>|`]+""")
_BARE_VALUE: Final = re.compile(r"""[^\s&;"'<>|`]+""")
_REST: Final = re.compile(r"""[^"'\n]+""")
_PLACEHOLDER: Final = re.compile(r"""["']?\(redacted: [a-z-]+\)""")
_CLOSING: Final = {"{": "}", "[": "]", "(": ")"}
_HARMLESS_WORD: Final = re.compile(
    r"""(?:a|an|the|no|not|is|are|was|has|have|had|be|been|must|may|can|cannot|could|should|will|would|did|does|do|for|from
    |of|in|on|at|to|by|with|without|and|or|if|when|while|as|that|this|it|its|true|false|null|none|nil|yes|undefined|empty
    |invalid|missing|required|expired|unknown|unauthorized|forbidden|failed|failure|error|denied|rejected|unable|found|unset
    |timeout|context|connection|dial|x509|rpc|get|post|put|patch|delete|create|update|list|watch|read|write|Secret|Secrets
    |ConfigMap|ServiceAccount|Kind|Name|Namespace|\$\w+|\{\{.*)[,.;:!?)]?\Z""",
    re.I | re.X,
)
_CONSTANT: Final = re.compile(r"(?:true|false|null|nil|none)\)*[,.;)]?\Z", re.I)
_TAG: Final = re.compile(
    r"(?:v?\d+(?:\.[\w-]+){1,4}|latest|main|master|stable|edge|nightly|dev)(?:@sha256:[0-9a-f]{64})?(?![\w@:])"
)
_PORT: Final = re.compile(r"\d{1,5}(?![\w.])")
_REFERENCE: Final = re.compile(r"\$(?:\([A-Z_][A-Z0-9_]*\)|\{[A-Z_][A-Z0-9_]*\})(?![\w-])")
_OPTION: Final = re.compile(
    r"""(?<![\w-])(?P<name>--?[A-Za-z][\w.-]{0,100})(?:["']?[ \t]*,[ \t]*["']?|[\s\\]{1,40}(?:-[ \t]+)?)"""
    r"""(?P<hide>"[^"\n]+"|'[^'\n]+'|(?!--?[A-Za-z])[^\s"'|;&,\]]+)"""
)
_PROGRAM: Final = (
    r"\b(?:mysql\w*|mariadb\w*|sshpass|docker|podman|nerdctl|buildah|skopeo|helm|oras|crane|redis-cli|ldap\w+"
    r"|psql|mongo\w*|smbclient|ftp|lftp|az|cf|btp|kinit|zip|7z|gpg)\b[^\n|;&]{0,300}?"
)
_JSON_START: Final = re.compile(r'\{(?=\s*")|\[(?=\s*[\[{"])')
_PEM_START: Final = re.compile(r"-{4,5} ?BEGIN [^\n-]{1,80}-{4,5}|PuTTY-User-Key-File-\d:")
_PEM_END: Final = re.compile(r"-{4,5} ?END [^\n-]{1,80}-{4,5}")
_PERCENT: Final = re.compile(r"""[^\s"'<>%]{0,500}(?:%[0-9A-Fa-f]{2}[^\s"'<>%]{0,500}){1,200}""")

_WORD: Final = r"(?:\b|(?<=_)|(?<=[a-z0-9])(?-i:(?=[A-Z])))"
"""The start of a word, also within `db_password` and `dbPassword`."""

_NAMED: Final = (
    re.compile(
        r"<(?P<name>[A-Za-z_][\w.:-]{0,100})(?:\s[^<>]{0,500})?>\s*(?:<!\[CDATA\[)?(?P<hide>[^<\s][^<]{0,16384}?)(?:\]\]>)?\s*<"
    ),
    re.compile(r"<key>\s*(?P<name>[^<>]{1,100}?)\s*</key>\s*<string>(?P<hide>[^<]{1,16384})<"),
    re.compile(
        r"""<[^<>]{0,500}?\b(?:name|key|id)\s*=\s*["'](?P<name>[^"'<>]{1,100})["'][^<>]{0,500}?>(?P<hide>[^<\s][^<]{0,16384})<"""
    ),
    re.compile(
        r"""\b(?:name|key|header|param)["']?\s*[:=]\s*["']?(?P<name>[\w.-]{1,100})["']?[\s,;]+["']?(?:value|val|default)["']?"""
        r"""\s*[:=]\s*(?P<hide>"[^"\n]*"|'[^'\n]*'|[^\s,}\]]+)"""
    ),
    re.compile(r"""\(\s*["'](?P<name>[\w.-]{1,100})["']\s*,\s*(?P<hide>"[^"\n]*"|'[^'\n]*')"""),
    re.compile(r"""\bname\s*=\s*"(?P<name>[\w.-]{1,100})"\s*?\r?\n\r?\n(?P<hide>[^\r\n]+)"""),
)
"""Patterns with a name, which decides."""

_PLAIN: Final = (
    (
        AUTHORIZATION,
        re.compile(r"""(?i:\b(?:bearer|basic))[ :]{1,3}(?P<hide>(?=[^\s"'<>,;]*[\dA-Z=_+])[^\s"'<>,;]{6,})"""),
    ),
    (
        ASSIGNMENT,
        re.compile(
            rf"""(?i){_WORD}(?:password|passwd|passphrase|passcode|pwd|bindpw|requirepass|masterauth)\b"""
            r"""(?:[ \t]+(?:is|was|to|for[ \t]+\S+))*"""
            r"""[ \t:=]+(?P<hide>"[^"\n]+"|'[^'\n]+'|(?=\S*[\d!@#$%^&*_+])[^\s"',;()]{3,})"""
        ),
    ),
    (
        ASSIGNMENT,
        re.compile(
            r"(?i)\b(?:authorization|cookie|x-[\w-]{0,60}(?:key|token|auth|secret))[ \t]+"
            r"""(?P<hide>"[^"\n]+"|'[^'\n]+')"""
        ),
    ),
    (
        ASSIGNMENT,
        re.compile(
            rf"(?i){_WORD}(?:token|secret|credentials?|api[ _-]?key|access[ _-]?key)\b"
            r"(?:[ \t]+(?:is|was|to|for[ \t]+\S+))*[ \t]+"
            r"(?P<hide>(?=\S*\d)(?=\S*[A-Za-z])[\w+/=]{12,})(?![\w.-])"
        ),
    ),
    (ASSIGNMENT, re.compile(r"\blogin[ \t]+\S+[ \t]+password[ \t]+(?P<hide>\S+)")),
    (
        ASSIGNMENT,
        re.compile(
            r"""(?i)\bidentified\s+(?:with\s+\S+\s+)?(?:by|as)\s+(?:password\s+)?(?P<hide>'[^'\n]+'|"[^"\n]+"|[^\s;]+)"""
        ),
    ),
    (ASSIGNMENT, re.compile(r"(?m)^[\w.*-]{1,253}:(?:\d{1,5}|\*):[^\s:]{1,100}:[^\s:]{1,100}:(?P<hide>\S+)$")),
    (
        ARGUMENT,
        re.compile(
            _PROGRAM + r"""\s-(?:p|w|a|P)[ =]?(?P<hide>"[^"\n]+"|'[^'\n]+'|(?![\d.:/-]+(?:\s|\Z))[^\s"'-][^\s"']*)"""
        ),
    ),
    (
        ARGUMENT,
        re.compile(r"""(?<!\S)(?:-u|-U|--user|--proxy-user)[ =]?["']?[^\s:"'/]{1,100}:(?P<hide>[^\s"'/]{1,500})"""),
    ),
    (
        ARGUMENT,
        re.compile(r"\bhtpasswd\s+(?:-\w*n\w*b\w*|-\w*b\w*n\w*|-\w*b\w*\s+(?:-\w+\s+)*\S+)\s+\S+\s+(?P<hide>\S+)"),
    ),
    (ARGUMENT, re.compile(r"(?<![\w:/])pass:(?P<hide>[^\s\"']+)")),
    (ARGUMENT, re.compile(r"""--from-literal[ =]["']?[\w.-]{1,253}=(?P<hide>"[^"\n]+"|'[^'\n]+'|[^\s"']+)""")),
    (ARGUMENT, re.compile(r"""\b(?:echo|printf)\s+(?:-\w+\s+){0,3}(?P<hide>"[^"\n]+"|'[^'\n]+'|[^\s"'|]+)\s*\|""")),
    (HASH, re.compile(r"""(?P<hide>\$(?:apr1|1|2[abxy]?|5|6|7|y|argon2\w{0,2}|pbkdf2[\w-]*)\$[^\s:"'<>,;]+)""")),
    (
        HASH,
        re.compile(
            r"""(?P<hide>\{(?:S?SHA\d{0,3}|S?MD5|CRYPT|PBKDF2[\w-]*|BCRYPT|ARGON2|PLAIN|CLEAR|CLEARTEXT)\}[^\s"'<>,;]+)"""
        ),
    ),
    (HASH, re.compile(r"\bSCRAM-SHA-\d+\$(?P<hide>\S+)")),
    (ACCESS_KEY, re.compile(r"\b(?P<hide>eyJ[\w-]{6,}(?:\.[\w-]+){1,4}\.?)")),
    (ACCESS_KEY, re.compile(r"\b(?P<hide>(?:AKIA|ASIA|AGPA|AIDA|AROA|ANPA|ANVA|ABIA|ACCA)[A-Z0-9]{12,})\b")),
    (
        ACCESS_KEY,
        re.compile(
            r"(?<![\w-])(?P<hide>(?:gh[oprsu]_|github_pat_|gl(?:pat|dt|rt|cbt|ptt|ft|soat|agent)-|xox[a-z]-|xapp-|AIza|ya29\."
            r"|[sr]k_(?:live|test)_|SG\.|npm_|pypi-|dckr_(?:pat|oat)_|hv[sbr]\.|dop_v1_|doo_v1_|shp(?:at|ca|pa|ss)_|sq0[a-z]{3}-"
            r"|AGE-SECRET-KEY-|whsec_|PMAK-|lin_api_|rubygems_|atlasv1\.|sntr[yu]s_|glsa_|dapi|nvapi-|hf_|sk-)"
            r"""[^\s"'<>,;|)]{7,})"""
        ),
    ),
    (ACCESS_KEY, re.compile(r"(?<![\w.-])(?P<hide>[a-z0-9]{6}\.(?=[a-z]*\d)[a-z0-9]{16})(?![\w.-])")),
)
"""Patterns that hide their group `hide` wherever they match."""

_EMAIL: Final = re.compile(
    r"(?<![\w.+-])(?P<hide>[\w.+-]{1,64}@(?!v\d)[\w-]{1,63}(?:\.[\w-]{1,63}){0,4}\.[A-Za-z]{2,63}\b)"
)


class TextRedactor:
    """Redacts texts; `hits` counts by rule name. `structure` redacts a JSON value that a text holds."""

    def __init__(self, hits: Counter[str], structure: Callable[[Any], Any], depth: int = 0) -> None:
        self._hits = hits
        self._structure = structure
        self._depth = depth

    def redact(self, text: str, *, encoded: bool = True) -> str:
        """Return a text without what the rules find in it; with `encoded`, also without what looks encoded."""
        if not text or text.isspace():
            return text
        text = self._json(self._pem(_COLOUR.sub("", text)))
        if "\n" in text:
            text = redact_lines(text, self._hits)
        text = redact_urls(text, self._hits)
        text = redact_queries(text, self._hits)
        text = self._assignments(text)
        for pattern in _NAMED:
            text = self._named(pattern, ASSIGNMENT, text)
        text = self._named(_OPTION, ARGUMENT, text)
        for rule, pattern in _PLAIN:
            text = self._hide(rule, pattern, text)
        if encoded:
            text = self._encoded(text)
        return self._hide(EMAIL, _EMAIL, text)

    def _replace(self, rule: RedactionRule) -> str:
        self._hits[rule.name] += 1
        return redacted(rule)

    def _hide(self, rule: RedactionRule, pattern: re.Pattern[str], text: str) -> str:
        return pattern.sub(lambda match: self._without(rule, match), text)

    def _named(self, pattern: re.Pattern[str], rule: RedactionRule, text: str) -> str:
        return pattern.sub(lambda match: self._without(rule, match) if is_sensitive(match["name"]) else match[0], text)

    def _without(self, rule: RedactionRule, match: re.Match[str]) -> str:
        """Return a match with its group `hide` replaced, unless that is a placeholder already."""
        start, end = match.span("hide")
        if _PLACEHOLDER.match(match.string, start) or match["hide"].startswith("redacted:"):
            return match[0]
        return match.string[match.start() : start] + self._replace(rule) + match.string[end : match.end()]

    def _pem(self, text: str) -> str:
        parts: list[str] = []
        at = 0
        while (start := _PEM_START.search(text, at)) is not None:
            stop = min(len(text), start.end() + _LONGEST_PEM)
            end = _PEM_END.search(text, start.end(), stop)
            parts += [text[at : start.start()], self._replace(PEM)]
            at = end.end() if end else stop
        return "".join((*parts, text[at:]))

    def _json(self, text: str) -> str:
        """Redact JSON documents in a text by their structure; what has no secret stays as it is written."""
        parts: list[str] = []
        at = search = 0
        budget = 4 * len(text) + 100_000  # characters of what turns out to be no document
        while budget > 0 and (start := _JSON_START.search(text, search)) is not None:
            value, end = read_json_start(text[start.start() : start.start() + _USUAL_JSON])
            is_cut = -end > _USUAL_JSON - 8  # it may be longer
            if is_cut and budget > len(text):
                value, end = read_json_start(text[start.start() :])
            if end < 0:
                budget += end
                search = start.end()
                continue
            search = start.start() + end
            clean = self._structure(value)
            if clean != value:
                parts += [text[at : start.start()], json.dumps(clean, ensure_ascii=False)]
                at = search
        return "".join((*parts, text[at:]))

    def _assignments(self, text: str) -> str:
        parts, at, search = [], 0, 0
        while (match := _ASSIGNMENT.search(text, search)) is not None:
            search = match.end()
            if not is_sensitive(match["name"]):
                continue
            end = _value_end(text, match)
            if end > search:
                parts += [text[at:search], self._replace(ASSIGNMENT)]
                at = search = end
        return "".join((*parts, text[at:]))

    def _encoded(self, text: str) -> str:
        def has_secret(decoded: str) -> bool:
            if self._depth >= _DEEPEST:
                return True
            inner = TextRedactor(Counter(), self._structure, self._depth + 1)
            return inner.redact(decoded) != decoded

        def token(match: re.Match[str]) -> str:
            is_secret = is_encoded_secret(match.string, match.start(), match.end(), has_secret)
            return self._replace(ENCODED) if is_secret else match[0]

        def percent(match: re.Match[str]) -> str:
            decoded = unquote(match[0])
            return self._replace(ENCODED) if decoded != match[0] and has_secret(decoded) else match[0]

        if "%" in text:
            text = _PERCENT.sub(percent, text)
        return TOKEN.sub(token, HEXADECIMAL.sub(token, text))


def _value_end(text: str, match: re.Match[str]) -> int:
    """Return where the value of an assignment ends; its start if there is nothing to hide."""
    start = match.end()
    if start >= len(text) or _PLACEHOLDER.match(text, start):
        return start
    if is_header_line(match["name"]):
        quote = _OPEN_QUOTE.match(text, start)
        rest = _REST.match(text, quote.end() if quote else start)
        return rest.end() if rest else start
    if text.startswith(_TRIPLE_QUOTES, start):
        end = text.find(text[start : start + 3], start + 3, start + _LONGEST_VALUE)
        return end + 3 if end >= 0 else _line_end(text, start)
    if string := _STRING.match(text, start):
        return string.end() if string.end() > start + 2 else start
    if quote := _OPEN_QUOTE.match(text, start):
        end = text.find(quote[0], quote.end(), quote.end() + _LONGEST_VALUE)
        return end + len(quote[0]) if end >= 0 else _line_end(text, start)
    if text[start] in "{[":
        return _closed(text, start)
    if text[match.start("name") - 1 : match.start("name")] == "/" and _TAG.match(text, start):  # of an image
        return start
    if _REFERENCE.match(text, start):
        return start
    if match["sign"] == ":" and _PORT.match(text, start) and sensitivity(match["name"]) is Sensitivity.SCALAR:
        return start
    is_sign = match["sign"].endswith(("=", ">"))
    word = (_BARE_VALUE if is_sign else _BARE_WORD).match(text, start)
    if word is None or (_CONSTANT if is_sign else _HARMLESS_WORD).match(word[0]):
        return start
    return word.end()


def _closed(text: str, start: int) -> int:
    """Return where a list or map ends, or its line if it is not closed."""
    opening, closing, depth = text[start], _CLOSING[text[start]], 0
    for at in range(start, min(len(text), start + _LONGEST_VALUE)):
        depth += (text[at] == opening) - (text[at] == closing)
        if depth == 0:
            return at + 1
    return _line_end(text, start)


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return end if end >= 0 else len(text)


TOKEN: Final = re.compile(r"[A-Za-z0-9+/_-]{16,}={0,2}")
_DIGEST: Final = re.compile(r"(?:sha(?:1|256|384|512)|md5)[:=_-]\Z", re.I)
_ADDRESS: Final = re.compile(r"(?:://|@)\Z")
HEXADECIMAL: Final = re.compile(r"(?<![0-9A-Za-z])(?:0x)?[0-9a-fA-F]{32,}(?![0-9A-Za-z])")
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_SEPARATORS: Final = re.compile(r"[+/_=-]")
_ARCHIVES: Final = (b"\x1f\x8b", b"PK\x03\x04", b"BZh", b"\x28\xb5\x2f\xfd", b"\xfd7zXZ")
_LARGEST: Final = 512 * 1024  # characters that are decoded; longer base64 is hidden
_SHORTEST_RANDOM: Final = 20
_SHORTEST_BASE36: Final = 24
_AWS_SECRET: Final = 40  # characters of a secret access key


def is_encoded_secret(text: str, start: int, end: int, has_secret: Callable[[str], bool]) -> bool:
    """Return whether the token text[start:end] is to be hidden; `has_secret` judges what base64 contains."""
    token = text[start:end]
    if _UUID.fullmatch(token) or _DIGEST.search(text, max(0, start - 8), start):
        return False
    if HEXADECIMAL.fullmatch(token):
        return not _ADDRESS.search(text, max(0, start - 3), start)
    return _looks_random(token) or _decodes_to_secret(token, has_secret)


def _decodes_to_secret(token: str, has_secret: Callable[[str], bool]) -> bool:
    """Return whether base64 holds an archive or a text with a secret."""
    if len(token) > _LARGEST:
        return True
    plain = token.strip("=").replace("-", "+").replace("_", "/")
    if len(plain) % 4 == 1 or "=" in plain:
        return False
    try:
        content = base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError):
        return False
    if content.startswith(_ARCHIVES):
        return True
    try:
        decoded = content.decode()
    except UnicodeDecodeError:
        return False
    return decoded.isprintable() and has_secret(decoded) if "\n" not in decoded else has_secret(decoded)


def _looks_random(token: str) -> bool:
    """Return whether upper case, lower case and digits alternate as they do in no word."""
    plain = _SEPARATORS.sub("", token)
    if len(plain) < _SHORTEST_RANDOM:
        return False
    kinds = ["d" if char.isdigit() else "u" if char.isupper() else "l" for char in plain[:4096]]
    changes = sum(first != second for first, second in pairwise(kinds)) / (len(kinds) - 1)
    if "u" in kinds and "l" in kinds:
        vowels = sum(char in "aeiouAEIOU" for char in plain) / len(plain)  # of words a third and more
        if len(token) == _AWS_SECRET and "d" in kinds:
            return changes >= 0.25
        return vowels < 0.28 and changes >= (0.38 if "d" in kinds else 0.42)
    is_base36 = "d" in kinds and kinds.count("d") < len(kinds) and not _SEPARATORS.search(token.rstrip("="))
    return is_base36 and len(plain) >= _SHORTEST_BASE36 and changes >= 0.25
