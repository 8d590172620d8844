"""Links of a module are opened in a browser, so nothing but a plain web address is one."""

from __future__ import annotations

import pytest

from kymatui.domain.kyma.module_templates import LONGEST_LINK, ModuleLink, module_links, safe_address
from tests.domain.builders import a_template, template

DOCS, CODE = "https://kyma-project.io/#/keda/user/README", "https://github.com/kyma-project/keda-manager"


@pytest.mark.parametrize(
    ("text", "address"),
    [
        (DOCS, DOCS),
        ("http://localhost:8080/a?b=c&d=%20e", "http://localhost:8080/a?b=c&d=%20e"),
        ("HTTPS://Example.ORG/A", "https://example.org/A"),
        ("https://[::1]:8443/x", "https://[::1]:8443/x"),
        ("https://example.org/größe", "https://example.org/gr%C3%B6%C3%9Fe"),
        ("https://exаmple.org/", "https://xn--exmple-4nf.org/"),  # a Cyrillic letter
        ("", ""),
        ("example.org", ""),
        ("ftp://example.org/x", ""),
        ("file:///etc/passwd", ""),
        ("javascript:alert(1)", ""),
        ("data:text/html,x", ""),
        ("https://", ""),
        ("https://example.org@evil.example", ""),
        ("https://user:token@example.org/", ""),
        ("https://example.org/\x1b]8;;https://evil.example\x07x", ""),
        ("https://example.org/a b", ""),
        ("https://example.org/\n-x", ""),
        ("https://example.org/\u202egpj.exe", ""),
        ("https://example.org:99999/", ""),
        ("https://[::1/", ""),
        ("https://example.org/" + "a" * LONGEST_LINK, ""),
    ],
)
def test_only_plain_web_addresses_are_links(text: str, address: str) -> None:
    assert safe_address(text) == address


def test_links_of_both_generations_of_templates_each_once() -> None:
    new = a_template(template("keda", "1.0.0", info={"documentation": DOCS, "repository": CODE}))
    assert module_links(new) == (ModuleLink("documentation", DOCS), ModuleLink("repository", CODE))
    same = a_template(template("keda", "1.0.0", info={"documentation": CODE, "repository": CODE}))
    assert module_links(same) == (ModuleLink("documentation", CODE),)
    raw = template("keda", "1.0.0")
    raw["metadata"]["annotations"] = {"operator.kyma-project.io/doc-url": DOCS}
    assert module_links(a_template(raw)) == (ModuleLink("documentation", DOCS),)
    assert module_links(a_template(template("keda", "1.0.0", info={"repository": 5}))) == ()
