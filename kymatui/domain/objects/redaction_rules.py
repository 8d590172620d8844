"""The rules by which secrets are hidden; name and sentence of each are printed with the number of its hits."""

from __future__ import annotations

from typing import Final

from msgspec import Struct


class RedactionRule(Struct, frozen=True):
    """A rule, and what it hides."""

    name: str
    explanation: str


SECRET_DATA: Final = RedactionRule("secret-data", "Secrets are read without their data; the server does not send it")
CONFIG_DATA: Final = RedactionRule("configmap-data", "values of ConfigMaps; their keys stay")
ANNOTATION: Final = RedactionRule(
    "annotation",
    "values of annotations but short ones of Kubernetes, Kyma, Helm, Istio, Prometheus and cert-manager, and objects "
    "that a tool repeats there",
)
VARIABLE: Final = RedactionRule(
    "variable",
    "values of environment variables but words without digits, numbers, times, versions, images, addresses and paths; "
    "all if their name is as in `field`",
)
FIELD: Final = RedactionRule(
    "field",
    "values, lists and maps whose name has a word such as password, token, secret, credential, or ends in key, auth, "
    "cookie and the like; references by name, file or URL stay",
)
ARGUMENT: Final = RedactionRule(
    "argument", "values of options with such a name, and passwords of curl, mysql and the like"
)
ASSIGNMENT: Final = RedactionRule(
    "assignment",
    "in texts, logs and messages, what follows such a name and =, : or >, or stands below it; what follows the word "
    "password, and looks like one",
)
PEM: Final = RedactionRule("pem", "PEM blocks, keys and certificates")
AUTHORIZATION: Final = RedactionRule("authorization", "credentials after Bearer and Basic")
URL_LOGIN: Final = RedactionRule("url-login", "users and passwords in URLs and before a host")
URL_QUERY: Final = RedactionRule(
    "url-query", "values of query parameters but those of Kubernetes, registries and pages"
)
WEBHOOK: Final = RedactionRule("webhook", "paths of webhooks outside of the cluster")
HASH: Final = RedactionRule("password-hash", "hashes of passwords, such as those of htpasswd and /etc/shadow")
ACCESS_KEY: Final = RedactionRule("access-key", "JWTs, and tokens with the prefix of a cloud, a forge or a registry")
ENCODED: Final = RedactionRule(
    "encoded", "base64 with a secret in it, archives, hexadecimal of 32 digits and more, texts that look random"
)
EMAIL: Final = RedactionRule("email", "e-mail addresses")

RULES: Final = (
    SECRET_DATA,
    CONFIG_DATA,
    ANNOTATION,
    VARIABLE,
    FIELD,
    ARGUMENT,
    ASSIGNMENT,
    PEM,
    AUTHORIZATION,
    URL_LOGIN,
    URL_QUERY,
    WEBHOOK,
    HASH,
    ACCESS_KEY,
    ENCODED,
    EMAIL,
)


def redacted(rule: RedactionRule) -> str:
    """Return what stands in the place of a secret."""
    return f"(redacted: {rule.name})"
