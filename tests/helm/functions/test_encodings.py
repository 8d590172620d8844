"""Base64, Base32, URLs, paths and versions."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kymatui.helm.functions.text.encoding import b32dec, b32enc, b64dec, b64enc
from kymatui.helm.functions.text.paths import clean
from tests.helm.functions.expressions import evaluate, failure


@given(st.binary())
def test_what_is_encoded_comes_back(data: bytes) -> None:
    text = data.decode("utf-8", "surrogateescape")
    assert b64enc(text) == base64.b64encode(data).decode()
    assert b64dec(b64enc(text)) == text
    assert b32dec(b32enc(text)) == text


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("aGk=", "hi"),
        ("aG\nk=\r\n", "hi"),
        ("", ""),
        ("aGk", "illegal base64 data at input byte 0"),
        ("aGVsbG8h!", "illegal base64 data at input byte 8"),
        ("aGk==", "illegal base64 data at input byte 4"),
        ("a===", "illegal base64 data at input byte 1"),
        ("aG=k", "illegal base64 data at input byte 2"),
    ],
)
def test_base64_that_is_none_is_answered_with_the_error(text: str, answer: str) -> None:
    assert b64dec(text) == answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("NBUQ====", "hi"),
        ("NBUQ", "illegal base32 data at input byte 0"),
        ("nbuq====", "illegal base32 data at input byte 0"),
        ("NBUQ===", "illegal base32 data at input byte 7"),
    ],
)
def test_base32_that_is_none_is_answered_with_the_error(text: str, answer: str) -> None:
    assert b32dec(text) == answer


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        (
            'urlParse "https://u:p%20w@h.example:8443/a%20b?q=1#f" | toJson',
            '{"fragment":"f","host":"h.example:8443","hostname":"h.example","opaque":"","path":"/a b",'
            '"query":"q=1","scheme":"https","userinfo":"u:p%20w"}',
        ),
        ('(urlParse "mailto:a@b").opaque', "a@b"),
        ('(urlParse "http://[::1]:80/").hostname', "::1"),
        ('(urlParse "http://a:9200,b:9200/").host', "a:9200,b:9200"),
        ('(urlParse "https://h::80").hostname', "h:"),
        ('urlJoin (urlParse "https://u:p%20w@h:8443/a%20b?q=1#f%20g")', "https://u:p%20w@h:8443/a%20b?q=1#f%20g"),
        ('urlJoin (dict "host" "h" "path" "p")', "//h/p"),
        ('urlJoin (dict "path" "a:b")', "./a:b"),
        ("urlJoin (dict)", ""),
        ('base "/a/b/"', "b"),
        ('base ""', "."),
        ('dir "/a/b"', "/a"),
        ('dir "a"', "."),
        ('clean "/a/../../b//c/."', "/b/c"),
        ('ext "a.tar.gz"', ".gz"),
        ('isAbs "/a"', "true"),
        ('osBase "/a/b"', "b"),
        ('semver "v1.2"', "1.2.0"),
        ('(semver "v1.2-rc.1+b").Original', "v1.2-rc.1+b"),
        ('(semver "1.2.3").Minor | typeOf', "uint64"),
        ('(semver "1.2.3-rc").IncPatch', "1.2.3"),
        ('(semver "1.2.3").Compare (semver "1.3")', "-1"),
        ('semverCompare ">=1.24-0" "v1.27.3-gke.1"', "true"),
        ('semverCompare ">=1.24" "v1.27.3-gke.1"', "false"),
        ('html 1 (semver "1.2.3") nil', "1 1.2.3&lt;no value&gt;"),
        ('js (semver "1.2") 2', "1.2.0 2"),
        ('urlquery 1 (semver "1.2") "x"', "1+1.2.0x"),
        ('sha256sum ""', "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ('sha1sum "a"', "86f7e437faa5a7fce15d1ddcb9eaeaea377667b8"),
        ('adler32sum "abc"', "38600999"),
        ('sha512sum "a" | len', "128"),
    ],
)
def test_encodings(expression: str, result: str) -> None:
    assert evaluate(expression) == result


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ('urlParse ":"', 'unable to parse url: parse ":": missing protocol scheme'),
        ('urlParse "http://h:x/"', 'unable to parse url: parse "http://h:x/": invalid port ":x" after host'),
        ('urlParse "http://h/%zz"', 'unable to parse url: parse "http://h/%zz": invalid URL escape "%zz"'),
        ('urlJoin (dict "host" 5)', "unable to parse host key, must be of type string, but int found"),
        ('semver "x"', "invalid semantic version"),
        ('semverCompare "nope" "1"', "improper constraint: nope"),
    ],
)
def test_errors(expression: str, text: str) -> None:
    assert failure(expression) == text


@given(st.text("a./", max_size=12))
def test_cleaning_a_clean_path_changes_nothing(path: str) -> None:
    assert clean(clean(path)) == clean(path)
