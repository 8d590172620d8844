"""Output of `helm template`: one text, or files."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Sequence

from kymatui.errors import HelmError
from kymatui.helm.rendering.manifests import split_manifests
from kymatui.helm.rendering.render import Rendered
from kymatui.patterns import deferred

_SOURCE = deferred(r"# Source: [^/]+/(.+)")
Part = tuple[str, str]
"""A path of the chart and the text that comes from it."""


def parts(rendered: Rendered, *, hooks: bool = True, tests: bool = True) -> list[Part]:
    """Return the printed parts in order: requested CRDs, manifests in installation order, hooks."""
    rendered_parts = [(crd.path, crd.content) for crd in rendered.crds]
    rendered_parts += [(manifest.path, manifest.content) for manifest in rendered.manifests]
    if hooks:
        rendered_parts += [(hook.path, hook.content) for hook in rendered.hooks if tests or "test" not in hook.events]
    return rendered_parts


def manifest_text(rendered: Rendered, *, hooks: bool = True, tests: bool = True) -> str:
    """Return all YAML documents as one text, each with its template's path."""
    release = [*((crd.path, crd.content) for crd in rendered.crds), *((m.path, m.content) for m in rendered.manifests)]
    text = "".join(_document(path, content) for path, content in release).strip() + "\n"
    if hooks:
        shown = (hook for hook in rendered.hooks if tests or "test" not in hook.events)
        text += "".join(_document(hook.path, hook.content) for hook in shown)
    return text


def _document(path: str, content: str) -> str:
    return f"---\n# Source: {path}\n{content}\n"


def only(text: str, patterns: Sequence[str]) -> str:
    """Return the documents of the named templates (`--show-only`). Raise HelmError for an unknown name.

    Patterns support `*`, `?` and `[…]` within a path element.
    """
    documents = split_manifests(text)
    shown: list[str] = []
    for pattern in patterns:
        matching = [document for document in documents if _comes_from(document, pattern.replace("\\", "/"))]
        if not matching:
            raise HelmError(f"could not find template {pattern} in chart")
        shown += matching
    return "".join(f"---\n{document}\n" for document in shown)


def _comes_from(document: str, pattern: str) -> bool:
    source = _SOURCE.search(document)
    if source is None:
        return False
    have, want = source[1].split("/"), pattern.split("/")
    return len(have) == len(want) and all(fnmatch.fnmatchcase(h, w) for h, w in zip(have, want, strict=True))


def files(entries: Iterable[Part]) -> dict[str, str]:
    """Return one text per template, as `--output-dir` writes them."""
    texts: dict[str, str] = {}
    for path, content in entries:
        texts[path] = texts.get(path, "") + _document(path, content)
    return texts
