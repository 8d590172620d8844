"""Secrets in URLs: logins, query parameters, and the paths of webhooks."""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

from kymatui.domain.objects.redaction_rules import URL_LOGIN, URL_QUERY, WEBHOOK, RedactionRule, redacted
from kymatui.domain.objects.sensitive_names import word_set

_URL: Final = re.compile(r"""(?<![A-Za-z0-9+.-])(?P<scheme>[A-Za-z][A-Za-z0-9+.-]{0,30}://)(?P<rest>[^\s"'<>`|\\]+)""")
_LOGIN: Final = re.compile(
    r"""(?<![\w/.@:%-])(?P<hide>[\w.+%-]{1,100}:(?!/)[^\s@"'<>(]{1,200}(?<!\)))@(?!sha\d|v\d)(?=[\w.\[/(-])"""
    r"""|(?<=thin:)(?P<oracle>[\w.$#]{1,100}/[^\s@"'<>/]{1,200})@"""
)
_QUERY: Final = re.compile(r"""(?<![?&])(?P<name>[?&#][\w.%~\[\]-]{1,100}=)(?!=)(?P<hide>[^\s&#"'<>;`\\)]+)""")
_KUBERNETES_PARAMETERS: Final = word_set(
    """watch limit timeout timeoutseconds labelselector fieldselector resourceversion resourceversionmatch
    allowwatchbookmarks sendinitialevents fieldmanager fieldvalidation force dryrun pretty propagationpolicy
    graceperiodseconds container follow previous timestamps taillines sinceseconds limitbytes name namespace kind group
    apiversion api-version version channel ref tag branch digest service scope n last page per_page pagesize offset
    sslmode format output level type sort order"""
)
_WEBHOOK_HOST: Final = re.compile(
    r"(?:hooks?|webhooks?)\.|(?:.*\.)?(?:webhook\.office|logic\.azure|hooks\.slack)\.com\Z|api\.telegram\.org\Z"
    r"|events\.pagerduty\.com\Z|chat\.googleapis\.com\Z",
    re.I,
)
_WEBHOOK_PATH: Final = re.compile(
    r"/(?:api/)?(?:webhooks?|hooks?|webhookb2|services/T\w+/B\w+|keys?|tokens?|apikey)/", re.I
)
_PLACEHOLDER: Final = "(redacted:"


def redact_urls(text: str, hits: Counter[str]) -> str:
    """Return a text without logins and webhooks in URLs, and without logins before a host."""
    if "://" in text:
        text = _URL.sub(lambda match: match["scheme"] + _address(match["rest"], hits), text)
    return _LOGIN.sub(lambda match: _without(URL_LOGIN, match, hits), text) if "@" in text else text


def redact_queries(text: str, hits: Counter[str]) -> str:
    """Return a text without values of query parameters that may be secret."""
    if "=" not in text:
        return text

    def parameter(match: re.Match[str]) -> str:
        is_known = match["name"][1:-1].casefold() in _KUBERNETES_PARAMETERS
        return match[0] if is_known else _without(URL_QUERY, match, hits)

    return _QUERY.sub(parameter, text)


def redact_webhook(url: str, hits: Counter[str]) -> str:
    """Return a URL whose path is a secret: without all that follows the host."""
    scheme, sign, rest = url.partition("://")
    host = re.split(r"[/?#]", rest, maxsplit=1)[0].rpartition("@")[2]
    hits[WEBHOOK.name] += 1
    return f"{scheme}{sign}{host}/{redacted(WEBHOOK)}" if sign else redacted(WEBHOOK)


def _address(rest: str, hits: Counter[str]) -> str:
    authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
    login, at, _ = authority.rpartition("@")
    if not at and "@" in rest and not re.fullmatch(r"[^:]*(?::\d*)?", authority):  # a password with /, ? or #
        login, at, _ = rest.rpartition("@")
    rest = rest[len(login) + len(at) :]
    host = re.split(r"[/?#]", rest, maxsplit=1)[0]
    path = rest[len(host) :]
    if at and not login.startswith(_PLACEHOLDER):
        hits[URL_LOGIN.name] += 1
        login = redacted(URL_LOGIN)
    name = host.partition(":")[0].casefold()
    is_outside = "." in name and not name.endswith((".svc", ".cluster.local"))
    if path and is_outside and (_WEBHOOK_HOST.match(name) or _WEBHOOK_PATH.search(path)):
        if not path.startswith(f"/{_PLACEHOLDER}"):
            hits[WEBHOOK.name] += 1
        return f"{login}{at}{host}/{redacted(WEBHOOK)}"
    return f"{login}{at}{host}{path}"


def _without(rule: RedactionRule, match: re.Match[str], hits: Counter[str]) -> str:
    group = "hide" if match["hide"] is not None else "oracle"
    start, end = match.span(group)
    if match[group].startswith(("(redacted", "redacted")):
        return match[0]
    hits[rule.name] += 1
    return match.string[match.start() : start] + redacted(rule) + match.string[end : match.end()]
