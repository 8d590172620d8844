"""Passwords: bcrypt, htpasswd, the master password algorithm, AES by password."""

from __future__ import annotations

import base64
import hashlib
import hmac
from typing import Final

import bcrypt as bcrypt_library
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from kymatui.helm.functions.text.encoding import CorruptInputError, decode_base64
from kymatui.helm.govalues.budget import check_budget
from kymatui.helm.govalues.text import from_bytes, to_bytes
from kymatui.helm.govalues.types import FunctionError, Panic
from kymatui.helm.language.environment import Environment

_COST: Final = 10
_BCRYPT_ALPHABET: Final = b"./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
_BASE64_ALPHABET: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_TO_BCRYPT: Final = bytes.maketrans(_BASE64_ALPHABET, _BCRYPT_ALPHABET)
_SCOPE: Final = b"com.lyndir.masterpassword"
_BLOCK: Final = 16

_LONG: Final = """
CvcvnoCvcvCvcv CvcvCvcvnoCvcv CvcvCvcvCvcvno CvccnoCvcvCvcv CvccCvcvnoCvcv CvccCvcvCvcvno
CvcvnoCvccCvcv CvcvCvccnoCvcv CvcvCvccCvcvno CvcvnoCvcvCvcc CvcvCvcvnoCvcc CvcvCvcvCvccno
CvccnoCvccCvcv CvccCvccnoCvcv CvccCvccCvcvno CvcvnoCvccCvcc CvcvCvccnoCvcc CvcvCvccCvccno
CvccnoCvcvCvcc CvccCvcvnoCvcc CvccCvcvCvccno
"""
_TEMPLATES: Final[dict[str, tuple[str, ...]]] = {
    "maximum": ("anoxxxxxxxxxxxxxxxxx", "axxxxxxxxxxxxxxxxxno"),
    "long": tuple(_LONG.split()),
    "medium": ("CvcnoCvc", "CvcCvcno"),
    "short": ("Cvcn",),
    "basic": ("aaanaaan", "aannaaan", "aaannaaa"),
    "pin": ("nnnn",),
}
_CHARACTERS: Final[dict[str, str]] = {
    "V": "AEIOU",
    "C": "BCDFGHJKLMNPQRSTVWXYZ",
    "v": "aeiou",
    "c": "bcdfghjklmnpqrstvwxyz",
    "A": "AEIOUBCDFGHJKLMNPQRSTVWXYZ",
    "a": "AEIOUaeiouBCDFGHJKLMNPQRSTVWXYZbcdfghjklmnpqrstvwxyz",
    "n": "0123456789",
    "o": "@&%?,=[]_:-+*$#!'^~;()/.",
    "x": "AEIOUaeiouBCDFGHJKLMNPQRSTVWXYZbcdfghjklmnpqrstvwxyz0123456789!@#$%^&*()",
}


def bcrypt(environment: Environment, text: str) -> str:
    """Return $2a$10$…; the salt comes from the Environment."""
    password = to_bytes(text)
    if len(password) > 72:
        return "failed to encrypt string with bcrypt: bcrypt: password length exceeds 72 bytes"
    check_budget()
    salt = base64.b64encode(environment.random(16)).rstrip(b"=").translate(_TO_BCRYPT)
    return bcrypt_library.hashpw(password, b"$2a$%02d$%s" % (_COST, salt)).decode()


def htpasswd(environment: Environment, user: str, password: str) -> str:
    return f"invalid username: {user}" if ":" in user else f"{user}:{bcrypt(environment, password)}"


def derive_password(counter: int, kind: str, password: str, user: str, site_name: str) -> str:
    """Return the master password algorithm's password, always the same for a site."""
    templates = _TEMPLATES.get(kind)
    if templates is None:
        return f"cannot find password template {kind}"
    check_budget()
    salt = _SCOPE + _sized(user)
    key = Scrypt(salt=salt, length=64, n=32768, r=8, p=2).derive(to_bytes(password))
    seed = hmac.new(key, _SCOPE + _sized(site_name) + int(counter).to_bytes(4), hashlib.sha256).digest()
    template = templates[seed[0] % len(templates)]
    return "".join(
        _CHARACTERS[letter][seed[number] % len(_CHARACTERS[letter])] for number, letter in enumerate(template, 1)
    )


def _sized(text: str) -> bytes:
    data = to_bytes(text)
    return len(data).to_bytes(4) + data


def _cipher(password: str, vector: bytes) -> Cipher[modes.CBC]:
    key = to_bytes(password)[:32].ljust(32, b"\0")
    return Cipher(algorithms.AES256(key), modes.CBC(vector))


def encrypt_aes(environment: Environment, password: str, text: str) -> str:
    """Encrypt with AES-256-CBC; the key is the password, cut or padded to 32 bytes, as in Sprig."""
    if not text:
        return ""
    data = to_bytes(text)
    padding = _BLOCK - len(data) % _BLOCK
    vector = environment.random(_BLOCK)
    encryptor = _cipher(password, vector).encryptor()
    encrypted = encryptor.update(data + bytes([padding]) * padding) + encryptor.finalize()
    return base64.b64encode(vector + encrypted).decode()


def decrypt_aes(password: str, text: str) -> str:
    if not text:
        return ""
    try:
        data = decode_base64(text)
    except CorruptInputError as error:
        raise FunctionError(str(error)) from error
    if len(data) < _BLOCK:
        raise Panic(f"runtime error: slice bounds out of range [:{_BLOCK}] with capacity {len(text) // 4 * 3}")
    if len(data) % _BLOCK:
        raise Panic("crypto/cipher: input not full blocks")
    decryptor = _cipher(password, data[:_BLOCK]).decryptor()
    decrypted = decryptor.update(data[_BLOCK:]) + decryptor.finalize()
    if not decrypted:
        raise Panic("runtime error: index out of range [-1]")
    length = len(decrypted) - decrypted[-1]
    if length < 0:
        raise Panic(f"runtime error: slice bounds out of range [:{length}]")
    return from_bytes(decrypted[:length])
