"""Nothing that a chart reads of Secrets is in its errors, plans and notes, whatever its templates make of it."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from typing import Any

import pytest

from kymatui.domain.inventories import Inventory, InventoryItem, Origin
from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.engine.bundles.bundle import HIDDEN, Bundle
from kymatui.engine.cluster.ports import Cluster, ServedKind
from kymatui.engine.plans.plan import diff_objects, hide_fields
from kymatui.engine.sources import chart_source
from kymatui.engine.sources.chart_lookup import cluster_lookup, manifest_lookup
from kymatui.engine.sources.render_target import RenderTarget
from kymatui.errors import CancelledError, ForbiddenError, HelmError, KymatuiError, RefusedError, SourceError
from kymatui.helm.charts.chart import Chart

Json = dict[str, Any]
FIRST, SECOND = "hunter2-Zx9", "tr0ub4dor-Qy7"
SECRET = GroupVersionKind("", "v1", "Secret")
HEAD = '{{- $s := (lookup "v1" "Secret" "shop" "db").data.password | b64dec }}\n'
MAP = HEAD + "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n"


def secret(password: str) -> Json:
    data = {"password": base64.b64encode(password.encode()).decode()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "db", "namespace": "shop"}, "data": data}


def target(password: str, **more: Any) -> RenderTarget:
    """A cluster with a Secret, and a ConfigMap with the same value."""

    def lookup(api_version: str, kind: str, namespace: str, name: str) -> Json:
        if (kind, namespace, name) == ("Secret", "shop", "db"):
            return secret(password)
        if kind == "Secret" and not name:
            return {"kind": "SecretList", "items": [secret(password)]}
        if (kind, name) == ("ConfigMap", "plain"):
            return {"data": {"v": password}}
        if name == "missing":
            return {}
        raise ForbiddenError(f'cannot get resource "{kind}" named "{name}" in namespace "{namespace}"', status=403)

    return RenderTarget(lookup=lookup, **more)


def render(template: str, cluster: RenderTarget, **files: str) -> Bundle:
    named = {"Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n", "templates/a.yaml": template, **files}
    loaded = chart_source.LoadedChart(Chart.from_files(named), Origin("helm", "web"))
    return chart_source.chart_bundle(loaded, name="r", namespace="shop", target=cluster)


def forms(password: str) -> list[str]:
    """What templates can make of a password, in the parts that a reader would recognise."""
    encoded = base64.b64encode(password.encode()).decode()
    digest = hashlib.sha256(password.encode()).hexdigest()
    return [password, password.upper(), password[::-1], encoded, digest, password[:4]]


def failure(template: str, cluster: RenderTarget) -> KymatuiError:
    with pytest.raises(KymatuiError) as raised:
        render(template, cluster)
    return raised.value


TELLING = [
    pytest.param("{{ fail $s }}", id="fail"),
    pytest.param("{{ fail (upper $s | b64enc) }}", id="fail, encoded"),
    pytest.param("{{ fail (sha256sum $s) }}", id="fail, hashed"),
    pytest.param("{{ fail (trunc 1 $s) }}", id="fail, a letter"),
    pytest.param('{{ required $s "" }}', id="required"),
    pytest.param('{{ range until (len $s | int) }}\n{{ end }}{{ fail "x" }}', id="a position of its length"),
    pytest.param("{{ include $s . }}", id="the name of a template"),
    pytest.param('{{ tpl (printf "{{ %s" $s) . }}', id="a template"),
    pytest.param('{{ tpl (printf "{{ fail \\"%s\\" }}" $s) . }}', id="a template that fails"),
    pytest.param("{{ index (list 1) $s }}", id="an index"),
    pytest.param('{{ mustToDate "2006" $s }}', id="a date"),
    pytest.param("{{ mustFromJson $s }}", id="JSON"),
    pytest.param('{{ mustRegexMatch (printf "(%s" $s) "x" }}', id="a pattern"),
    pytest.param('{{ lookup "v1" "Secret" $s "x" }}', id="the name of a namespace"),
    pytest.param('{{ lookup "v1" "Secret" "shop" $s }}', id="the name of an object"),
    pytest.param("a: b\n\t{{ $s }}: d", id="a line of YAML"),
    pytest.param("{{ $s }}: [", id="an open list"),
    pytest.param("apiVersion: v1\nkind: {{ $s }}\nmetadata: {}", id="a kind without name"),
    pytest.param("apiVersion: v1\nkind: Pod\nmetadata: {name: [{{ $s }}]}", id="a name"),
    pytest.param("apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: {{ $s }}}", id="labels"),
]


@pytest.mark.parametrize("template", TELLING)
def test_an_error_says_the_same_whatever_the_secret_has(template: str) -> None:
    errors = [failure(HEAD + template, target(password)) for password in (FIRST, SECOND)]
    for error, password in zip(errors, (FIRST, SECOND), strict=True):
        said = [str(error), error.hint]
        assert not [form for form in forms(password) for text in said if form in text]
        assert error.__context__ is None or "lookup" not in str(error)  # a traceback would have the message
    first, second = errors
    assert (type(first), str(first), first.hint) == (type(second), str(second), second.hint)


def test_an_error_names_the_template_and_the_line() -> None:
    error = failure(HEAD + "\n\n  {{ fail $s }}", target(FIRST))
    assert str(error).startswith("chart web fails at web/templates/a.yaml:4:")
    assert "Secrets that a template reads with lookup" in str(error)
    assert isinstance(error, HelmError)


@pytest.mark.parametrize(
    ("template", "kind", "words"),
    [
        ('{{ fail "set db.password" }}', HelmError, "set db.password"),
        ("apiVersion: v1\nkind: Pod\nmetadata: {}", SourceError, "this Pod has no name"),
        ("{{ .Values.x.y }}", HelmError, "nil pointer"),
    ],
)
def test_a_message_without_the_secret_is_shown(template: str, kind: type[KymatuiError], words: str) -> None:
    error = failure(HEAD + template, target(FIRST))
    assert type(error) is kind
    assert words in str(error)


def test_a_message_is_shown_where_no_secret_was_read() -> None:
    template = '{{ fail (printf "no %s" (lookup "v1" "Secret" "shop" "missing" | toString)) }}'
    assert "no map[]" in str(failure(template, target(FIRST)))
    template = '{{ fail (lookup "v1" "ConfigMap" "shop" "plain").data.v }}'
    assert FIRST in str(failure(template, target(FIRST)))


def test_with_other_rights_no_object_is_in_an_error() -> None:
    template = '{{ fail (lookup "v1" "ConfigMap" "shop" "plain").data.v }}'
    error = failure(template, target(FIRST, all_private=True))
    assert FIRST not in str(error)
    assert "objects that a template reads" in str(error)


def test_a_cancelled_rendering_is_cancelled() -> None:
    def cancelled(*words: str) -> Json:
        if words[3] == "db":
            return secret(FIRST)
        raise CancelledError("stopped")

    with pytest.raises(CancelledError):
        render(HEAD + '{{ lookup "v1" "Pod" "shop" "x" }}', RenderTarget(lookup=cancelled))


# plans


def shown(bundle: Bundle, live: Json | None = None) -> list[tuple[str, object, object]]:
    """Path, old and new value of what a plan displays of the objects."""
    return [
        (change.path, change.before, change.after)
        for body in bundle.objects
        for change in hide_fields(diff_objects(live, body), read_ref(body), bundle.hidden)
    ]


DERIVED = [
    pytest.param(MAP + "data: {v: {{ $s | quote }}, w: plain}", id="verbatim"),
    pytest.param(MAP + "data: {v: {{ upper $s | b64enc | quote }}, w: plain}", id="encoded"),
    pytest.param(MAP + "data: {v: {{ sha256sum $s | quote }}, w: plain}", id="hashed"),
    pytest.param(MAP + "data: {v: {{ trunc 4 $s | quote }}, w: plain}", id="cut"),
    pytest.param(MAP + 'data: {v: "postgres://u:{{ $s }}@db", w: plain}', id="within a text"),
    pytest.param(MAP + "data: { {{ $s | quote }}: v, w: plain}", id="a key"),
    pytest.param(MAP + 'data: {w: plain, {{ if hasPrefix "h" $s }}v: a{{ else }}v: b{{ end }}}', id="a choice"),
    pytest.param(
        HEAD + "apiVersion: v1\nkind: Pod\nmetadata: {name: settings}\n"
        "spec: {containers: [{name: a, args: [--first, {{ $s | quote }}], env: [{name: P, value: {{ $s | quote }}}]}]}",
        id="arguments and variables",
    ),
    pytest.param(MAP + 'data: {{ dict "v" $s | toYaml | nindent 2 }}', id="a whole field"),
    pytest.param(
        HEAD + '{{- if hasPrefix "h" $s }}\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n'
        "data: { {{ $s | quote }}: {{ $s | quote }}}\n{{- end }}",
        id="a whole object",
    ),
]


@pytest.mark.parametrize("template", DERIVED)
def test_a_plan_displays_nothing_that_a_chart_derives_from_a_secret(template: str) -> None:
    bundle = render(template, target(FIRST))
    for live in (None, *render(template, target(SECOND)).objects):
        text = str(shown(bundle, live))
        assert not [form for form in (*forms(FIRST), *forms(SECOND)) if form in text]
        assert HIDDEN in text
    assert "Values that the chart derives" in " ".join(bundle.notes)


def test_a_plan_displays_what_does_not_depend_on_the_secret() -> None:
    bundle = render(MAP + "data: {v: {{ $s | quote }}, w: plain}", target(FIRST))
    assert ("data.w", None, "plain") in shown(bundle, {**bundle.objects[0], "data": {}})
    assert ("data", None, {"v": HIDDEN, "w": "plain"}) in shown(bundle)
    plain = render("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata: {w: plain}", target(FIRST))
    assert plain.hidden.objects == ()
    assert ("data", None, {"w": "plain"}) in shown(plain)


def test_everything_is_hidden_where_a_chart_takes_no_other_value() -> None:
    check = f'{{{{- if ne $s "{FIRST}" }}}}{{{{ fail "no" }}}}{{{{ end }}}}\n'
    changes = shown(render(MAP.replace(HEAD, HEAD + check) + "data: {v: {{ $s | quote }}}", target(FIRST)))
    assert changes
    assert {after for _, _, after in changes} == {HIDDEN}


def test_objects_of_an_earlier_rendering_are_hidden_whole() -> None:
    bundle = render(MAP + "data: {v: {{ $s | quote }}}", target(FIRST))
    other = ObjectRef(GroupVersionKind("", "v1", "ConfigMap"), "shop", "older")
    changes = diff_objects(None, {**bundle.objects[0], "metadata": {"name": "older"}, "data": {"v": FIRST}})
    (shown,) = [one for one in hide_fields(changes, other, bundle.hidden) if one.path.startswith("data")]
    assert (shown.path, shown.after) == (f"data.{HIDDEN}", HIDDEN)


def test_objects_of_one_name_in_several_namespaces_hide_what_any_of_them_has() -> None:
    first = MAP.replace("{name: settings}", "{name: settings, namespace: a}") + "data: {v: {{ $s | quote }}, w: plain}"
    second = "\n---\n" + first.removeprefix(HEAD).replace("namespace: a", "namespace: b").replace("v: {{", "x: {{")
    bundle = render(first + second, target(FIRST))
    assert len(bundle.objects) == 2
    assert FIRST not in str(shown(bundle))
    assert "plain" in str(shown(bundle))


def test_notes_have_no_line_with_the_secret() -> None:
    notes = HEAD + "Your password:\n{{ $s }}\nand its start {{ trunc 4 $s }}\nGood luck\n"
    bundle = render(MAP + "data: {}", target(FIRST), **{"templates/NOTES.txt": notes})
    lines = bundle.displayed_notes.split("\n")
    assert [line for line in lines if line] == ["Your password:", HIDDEN, HIDDEN, "Good luck"]
    assert bundle.release is not None
    assert FIRST in bundle.release.notes


def test_errors_of_servers_are_without_hidden_values() -> None:
    bundle = render(MAP + "data: {v: {{ $s | quote }}}", target(FIRST))
    refusal = ForbiddenError(f"invalid value: {FIRST}", hint=f"not {FIRST}", status=422)
    refusal.__cause__ = ValueError(f"refused {FIRST}")
    with pytest.raises(ForbiddenError), bundle.hidden.concealed():
        raise refusal
    assert (str(refusal), refusal.hint) == (f"invalid value: {HIDDEN}", f"not {HIDDEN}")
    assert str(refusal.__cause__) == f"refused {HIDDEN}"


# Manifests


class Home:
    """A cluster with some Secrets."""

    def __init__(self, *names: str) -> None:
        self.names = names

    def kind(self, gvk: GroupVersionKind) -> ServedKind:
        return ServedKind(gvk, "secrets", True)

    def get(self, ref: ObjectRef) -> Json | None:
        return secret(FIRST) if f"{ref.namespace}/{ref.name}" in self.names else None

    def list(self, gvk: GroupVersionKind, namespace: str) -> list[Json]:
        return [secret(FIRST) for name in self.names if name.startswith(f"{namespace}/") or not namespace]


def lookup_of(home: Home, *named: str, items: tuple[InventoryItem, ...] = ()) -> Callable[[str, str, str, str], Json]:
    inventory = Inventory("r", "shop", Origin("helm", "web"), items=items)
    cluster: Cluster = home  # type: ignore[assignment]
    return manifest_lookup(cluster, named, lambda: inventory)


def test_a_manifest_reads_secrets_that_are_named_or_that_its_release_created() -> None:
    home = Home("shop/db", "kcp-system/access")
    own = InventoryItem(ObjectRef(SECRET, "shop", "db"))
    assert lookup_of(home, items=(own,))("v1", "Secret", "shop", "db") == secret(FIRST)
    assert lookup_of(home, "shop/db")("v1", "Secret", "shop", "db") == secret(FIRST)
    assert lookup_of(home, "shop/*")("v1", "Secret", "shop", "db") == secret(FIRST)
    assert len(lookup_of(home, "shop/*")("v1", "Secret", "shop", "")["items"]) == 1
    assert lookup_of(home)("v1", "Secret", "shop", "missing") == {}
    assert lookup_of(home)("v1", "ConfigMap", "shop", "db") == secret(FIRST)


@pytest.mark.parametrize(
    ("place", "named"),
    [
        (("v1", "Secret", "kcp-system", "access"), ()),
        (("v1", "Secret", "kcp-system", "access"), ("kcp-system/other", "shop/*")),
        (("v1", "Secret", "kcp-system", ""), ("kcp-system/access",)),
        (("v1", "Secret", "", ""), ("kcp-system/*",)),
        (("v1", "Secret", "shop", "db"), ()),
    ],
)
def test_a_manifest_reads_no_other_secret(place: tuple[str, str, str, str], named: tuple[str, ...]) -> None:
    adopted = InventoryItem(ObjectRef(SECRET, "shop", "db"), adopted=True)
    lookup = lookup_of(Home("shop/db", "kcp-system/access"), *named, items=(adopted,))
    with pytest.raises(RefusedError, match="with lookup") as raised:
        lookup(*place)
    assert "--lookup-secrets" in raised.value.hint


THINGS = (
    'a: {{ lookup "example.org/v1" "Thing" "" "" | toJson }}\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\n'
)
CRD = (
    "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: things.example.org}\n"
    "spec: {group: example.org, names: {kind: Thing}, versions: [{name: v1, served: true}]}\n"
)


class WithoutThings:
    """A cluster that serves no kind."""

    def kind(self, gvk: GroupVersionKind) -> None:
        return None


def test_lookup_of_a_kind_that_is_not_served_ends_the_rendering() -> None:
    cluster = RenderTarget(lookup=cluster_lookup(WithoutThings()))  # type: ignore[arg-type]
    with pytest.raises(HelmError, match=r"Thing of example.org/v1 .* does not serve this kind"):
        render(THINGS, cluster)


def test_lookup_of_a_kind_of_the_charts_own_crds_finds_nothing() -> None:
    cluster = RenderTarget(lookup=cluster_lookup(WithoutThings()))  # type: ignore[arg-type]
    bundle = render(THINGS, cluster, **{"crds/things.yaml": CRD})
    assert bundle.objects[0]["a"] == {}
