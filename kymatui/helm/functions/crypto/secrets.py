"""Functions for keys, certificates and passwords; their libraries are imported on the first call.

Many charts contain such calls, but few renderings reach them.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

from kymatui.helm.functions.declaring import declare, table


def _later(module: str, name: str) -> Callable[..., Any]:
    def call(*arguments: Any) -> Any:
        return getattr(import_module(f"kymatui.helm.functions.crypto.{module}"), name)(*arguments)

    return call


def _certificates(name: str) -> Callable[..., Any]:
    return _later("certificates", name)


def _passwords(name: str) -> Callable[..., Any]:
    return _later("passwords", name)


_SELF_SIGNED: Final = "string, list, list, int"
_SIGNED: Final = "string, list, list, int, certificate"

FUNCTIONS: Final = table(
    (
        declare("genPrivateKey(string)", _later("certificates", "gen_private_key")),
        declare("genCA(string, int)", _certificates("gen_ca"), environment=True),
        declare("genCAWithKey(string, int, string)", _certificates("gen_ca_with_key"), environment=True),
        declare(f"genSelfSignedCert({_SELF_SIGNED})", _certificates("gen_self_signed"), environment=True),
        declare(
            f"genSelfSignedCertWithKey({_SELF_SIGNED}, string)",
            _certificates("gen_self_signed_with_key"),
            environment=True,
        ),
        declare(f"genSignedCert({_SIGNED})", _certificates("gen_signed"), environment=True),
        declare(f"genSignedCertWithKey({_SIGNED}, string)", _certificates("gen_signed_with_key"), environment=True),
        declare("buildCustomCert(string, string)", _certificates("build_custom_cert")),
        declare("bcrypt(string)", _passwords("bcrypt"), environment=True),
        declare("htpasswd(string, string)", _passwords("htpasswd"), environment=True),
        declare("derivePassword(uint32, string, string, string, string)", _passwords("derive_password")),
        declare("encryptAES(string, string)", _passwords("encrypt_aes"), environment=True),
        declare("decryptAES(string, string)", _passwords("decrypt_aes")),
    )
)
