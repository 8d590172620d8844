"""Good input of each door: small texts, and real files where the shared folder is there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

SHARED: Final = Path(__file__).parents[3] / "shared"
LARGEST: Final = 60_000
"""Bytes of a real file that is used as a sample."""


def _real(pattern: str) -> tuple[bytes, ...]:
    found = sorted(path for path in SHARED.glob(pattern) if path.is_file() and path.stat().st_size <= LARGEST)
    return tuple(path.read_bytes() for path in found[:8])


MANIFEST: Final = b"""apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: b, labels: {x: "1"}}
data: {k: v}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: d}
spec:
  replicas: 1
  template:
    spec:
      containers:
      - {name: main, image: "registry.example/a:1.0.0", args: [--x, --y=1]}
"""

CHART: Final = {
    "c/Chart.yaml": "apiVersion: v2\nname: c\nversion: 1.0.0\ndependencies:\n- {name: d, version: 1.0.0, alias: e}\n",
    "c/values.yaml": "a: 1\nb: {c: [x, y], d: text}\ne: {enabled: true}\nglobal: {g: h}\n",
    "c/values.schema.json": '{"type": "object", "properties": {"a": {"type": "integer"}}}',
    "c/templates/_h.tpl": '{{ define "n" }}{{ .Release.Name | trunc 63 }}{{ end }}',
    "c/templates/a.yaml": 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ include "n" . }}}\n'
    "data:\n{{ .Values.b | toYaml | indent 2 }}\n",
    "c/crds/x.yaml": "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a.b}\n",
    "c/charts/d/Chart.yaml": "apiVersion: v2\nname: d\nversion: 1.0.0\n",
    "c/charts/d/templates/b.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: b}\n",
}

KUBECONFIG: Final = b"""apiVersion: v1
kind: Config
current-context: a
contexts: [{name: a, context: {cluster: c, user: u, namespace: n}}]
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1", insecure-skip-tls-verify: true}}]
users: [{name: u, user: {token: secret}}]
"""

TEXTS: Final[dict[str, bytes]] = {
    "manifest": MANIFEST,
    "layer": MANIFEST,
    "edited object": MANIFEST.partition(b"---")[0],
    "kubeconfig": KUBECONFIG,
    "access Secret": KUBECONFIG,
    "catalog": b"""apiVersion: operator.kyma-project.io/v1beta2
kind: ModuleTemplate
metadata: {name: a-1.0.0, namespace: kyma-system}
spec: {moduleName: a, version: 1.0.0, channel: "", data: {kind: A}, descriptor: {component: {name: x/a}}}
""",
    "descriptor": json.dumps(
        {
            "meta": {"schemaVersion": "v2"},
            "component": {
                "name": "kyma-project.io/module/a",
                "version": "1.0.0",
                "provider": "kyma-project.io",
                "labels": [{"name": "x", "value": {"a": 1}, "version": "v1"}],
                "repositoryContexts": [{"type": "OCIRegistry", "baseUrl": "registry.example", "subPath": "a"}],
                "sources": [],
                "componentReferences": [],
                "resources": [
                    {
                        "name": "raw-manifest",
                        "type": "directoryTree",
                        "version": "1.0.0",
                        "relation": "local",
                        "access": {"type": "localBlob", "localReference": "sha256:" + "0" * 64, "mediaType": "a/b"},
                    }
                ],
            },
            "signatures": [],
        }
    ).encode(),
    "index": b"""apiVersion: v1
generated: "2026-01-01T00:00:00Z"
entries:
  c:
  - {apiVersion: v2, name: c, version: 1.0.0, urls: [c-1.0.0.tgz], digest: "00", created: "2026-01-01T00:00:00Z"}
""",
    "install config": b'configs: [{name: a, overrides: "a=1,b.c=2", configs: "x"}]\n',
    "module config": b"""name: kyma-project.io/module/a
version: 1.0.0
manifest: manifest.yaml
repository: https://github.com/a/b
documentation: https://github.com/a/b
icons: [{name: module-icon, link: https://a.example/i.svg}]
manager: {name: a, namespace: n, group: apps, version: v1, kind: Deployment}
""",
    "values": b"a: 1\nb: &b {c: [x, y]}\nd: *b\ne: {<<: *b, f: 0x1F, g: 1e3, h: ~, i: 2001-01-01}\n",
    "image manifest": json.dumps(
        {
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": {"mediaType": "a/b", "digest": "sha256:" + "0" * 64, "size": 2},
            "layers": [{"mediaType": "a/c", "digest": "sha256:" + "1" * 64, "size": 3, "annotations": {"x": "y"}}],
        }
    ).encode(),
    "inventory": b'{"schema":"kymatui.io/inventory/v1","name":"a","namespace":"b","origin":{"kind":"raw",'
    b'"address":"x"},"items":[{"ref":{"kind":{"group":"","version":"v1","kind":"A"},"namespace":"","name":"a"},"uid":"1"}]}',
    "journal": b'{"time":1.0,"run":"a","mark":"begun","what":"run","on":"install a","words":""}\n',
    "plan": b'{"schema":"kymatui.io/plan/v1","plan":{"cluster":"c","intent":{"bundle":{"name":"a","namespace":"b",'
    b'"origin":{"kind":"raw","address":"inline","digest":"sha256:6"},"objects":[{"apiVersion":"v1","kind":"ConfigMap",'
    b'"metadata":{"name":"a"},"data":{"k":"v"}}]},"policy":"CreateAndDelete"},"steps":[{"action":"create","ref":{"kind":'
    b'{"group":"","version":"v1","kind":"ConfigMap"},"namespace":"b","name":"a"},"wave":0}],"first":true,"made_at":1.0}}',
    "policy": b'{"rules":[{"match":{"plan":"trial|free"},"windows":[{"days":["Mon"],"begin":"01:00:00+00:00",'
    b'"end":"05:00:00+00:00"}]}],"default":{"days":["Sat"],"begin":"00:00:00+00:00","end":"23:00:00+00:00"}}',
    "fleet": b'{"format":"kymatui-fleet/v1","takenAt":1.0,"settings":{"a":{"restricted":[],"minWindowSeconds":0}},'
    b'"catalog":[],"kymas":['
    b'{"apiVersion":"operator.kyma-project.io/v1beta2","kind":"Kyma","metadata":{"name":"a","namespace":"kcp-system",'
    b'"labels":{"x":"y"}},"spec":{"channel":"fast","modules":[{"name":"m"}]},"status":{"state":"Ready"}}]}',
    "keys": b"-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n"
    b"-----END PUBLIC KEY-----\n",
    "provenance": b"-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA512\n\nname: c\nversion: 1.0.0\n\n...\nfiles:\n"
    b"  c-1.0.0.tgz: sha256:00\n-----BEGIN PGP SIGNATURE-----\n\nwsBcBAEBCgAQ\n-----END PGP SIGNATURE-----\n",
    "set": b"a.b[0]=1,c={x,y},d\\.e=null,f[2].g=text",
    "settings": b'theme = "dark"\ncolumns = ["name", "state"]\n[keys]\nquit = "q"\n[contexts."prod-*"]\n'
    b'accent = "red"\n',
    "docker config": b'{"auths":{"https://registry.example/v1/":{"auth":"YTpi"},"ghcr.io":{"identitytoken":"x"}},'
    b'"credHelpers":{"gcr.io":"gcr"},"credsStore":"pass"}',
    "pull Secret": b'{"auths":{"registry.example":{"username":"a","password":"b","auth":"YTpi"}}}',
    "exec plugin": b'{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","spec":{},"status":'
    b'{"expirationTimestamp":"2031-01-01T00:00:00Z","token":"x","clientCertificateData":"y","clientKeyData":"z"}}',
    "event of a runtime": b'{"owner":{"Name":"a","Namespace":"b"},"watched":{"Name":"c","Namespace":"d"},"watchedGvk":'
    b'{"group":"e","version":"v1","kind":"F"}}',
    "server": b'{"apiVersion":"v1","kind":"PodList","metadata":{"resourceVersion":"1"},"items":[{"metadata":'
    b'{"name":"a","managedFields":[{"manager":"m","fieldsV1":{"f:a":{}}}],"labels":{"b":"c"}},"status":{}}]}',
    "audit ignores": b"ignore:\n- {rule: KY1001, reason: known, until: 2031-01-01, module: a, object: Pod b/c}\n",
    "change": b"apiVersion: operator.kyma-project.io/v1beta2\nkind: ModuleReleaseMeta\nmetadata: {name: a}\n"
    b"spec: {moduleName: a, channels: [{channel: fast, version: 1.0.0}]}\n---\n"
    b"apiVersion: operator.kyma-project.io/v1beta2\nkind: Kyma\nmetadata: {name: b}\nspec: {channel: fast}\n",
    "backup": b"# a 1.0.0 in b\n# cluster 1\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: ns}\n"
    b"data:\n  k: |\n    text\n  l: b\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: b}\ndata: {c: ZA==}\n",
    "diagnosis": b'password: hunter2\n{"token": "eyJhbGciOi.eyJzdWIi.x", "a": [1, {"secret": "b"}]}\n'
    b"https://a:b@c.example/?sig=x curl -u a:b --password=c AKIAIOSFODNN7EXAMPLE a@b.example\n",
}

FILES: Final[dict[str, tuple[bytes, ...]]] = {
    "manifest": _real("kyma/raw-manifests/**/*.yaml") or _real("kyma/manifests/**/*.yaml"),
    "catalog": _real("kyma/moduletemplates/**/*.yaml"),
    "module config": _real("kyma/module-config/**/*.yaml"),
    "policy": _real("kyma/maintenance-windows/**/*.json"),
    "values": _real("kyma/helm-charts/**/values.yaml"),
}

CRDS: Final = (
    b"""apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: as.x.example}
spec:
  group: x.example
  scope: Namespaced
  names: {plural: as, kind: A}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            x-kubernetes-validations: [{rule: "self.a.size() < 10", message: long}]
            properties:
              a: {type: string, pattern: "^[a-z]+$", maxLength: 20, default: b}
              b: {type: array, items: {type: integer, minimum: 1}, x-kubernetes-list-type: set}
              c: {type: object, additionalProperties: {type: string, enum: [x, y]}}
              d: {x-kubernetes-int-or-string: true}
---
apiVersion: x.example/v1
kind: A
metadata: {name: a}
spec: {a: abc, b: [1, 2], c: {k: x}, d: 5}
""",
    *_real("kyma/crds/**/*.yaml"),
)

KUSTOMIZATIONS: Final = (
    b"""# file: kustomization.yaml
resources: [a.yaml]
namespace: ns
namePrefix: p-
commonLabels: {x: z}
images: [{name: registry.example/a, newTag: 2.0.0}]
replicas: [{name: d, count: 3}]
patches:
- patch: '[{"op": "replace", "path": "/data/k", "value": "w"}]'
  target: {kind: ConfigMap}
- patch: "apiVersion: apps/v1\\nkind: Deployment\\nmetadata: {name: d}\\nspec: {replicas: 2}\\n"
replacements:
- source: {kind: ConfigMap, name: a, fieldPath: data.k}
  targets: [{select: {kind: Deployment}, fieldPaths: ["spec.template.spec.containers.[name=main].args.0"]}]
configMapGenerator: [{name: g, literals: [a=b], files: [a.yaml]}]
secretGenerator: [{name: s, envs: [e.env]}]
# file: e.env
A=1
# file: a.yaml
"""
    + MANIFEST,
)

SCHEMAS: Final = (
    b'{"$defs": {"d0": {"allOf": [{"$ref": "#/$defs/d1"}, {"$ref": "#/$defs/d1"}]}, "d1": {"type": "object"}},'
    b' "$ref": "#/$defs/d0", "properties": {"a": {"type": ["integer", "null"], "minimum": 1, "multipleOf": 0.5},'
    b' "b": {"items": {"enum": [1, "x", {"y": [2]}]}, "uniqueItems": true, "contains": {"const": 1}},'
    b' "c": {"pattern": "^(a|b)+$", "format": "date-time", "minLength": 2}},'
    b' "patternProperties": {"^x-": {"oneOf": [{"type": "string"}, {"not": {"type": "number"}}]}},'
    b' "additionalProperties": false, "required": ["a"], "if": {"required": ["b"]}, "then": {"minProperties": 2},'
    b' "dependentRequired": {"b": ["a"]}, "propertyNames": {"maxLength": 20}, "unevaluatedProperties": false}',
    b'{"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"a": {"type": "string"}},'
    b' "properties": {"a": {"$ref": "#/definitions/a"}, "b": {"format": "email"}}, "dependencies": {"a": ["b"]}}',
)

TEMPLATES: Final = (
    b'{{ define "a" }}{{ range $i, $x := . }}{{ $x | quote | indent 2 }}{{ end }}{{ end }}{{ include "a" (list 1 2) }}',
    b'{{ $d := dict "a" 1 }}{{ range until 20 }}{{ $_ := set $d (print .) (repeat 10 "x") }}{{ end }}{{ toYaml $d }}',
    b'{{ regexReplaceAll "a+" (repeat 20 "ab") "${0}c" | b64enc | b64dec | sha256sum }}{{ .Files.Get "files/a" }}',
    b'{{ with .Values }}{{ tpl "{{ .a }}" . }}{{ else }}{{ fail "x" }}{{ end }}{{ printf "%5.2f %#v" 1.5 .Values }}',
)

CEL: Final = (
    b"self.a > 0 && self.b.startsWith('t') ? self.c.all(x, x > 0) : self.d.e.exists(y, y.f == 'g')",
    b"self.l.map(x, self.l.filter(y, y > x)).size() < 10 || self.s.matches('^(a+)+$')",
    b"has(oldSelf.a) && duration('1h') < duration('2h') && self.c.map(x, x * 2).sum() == 12",
    b"self.s.split('a').join('b').replace('b', 'cc').contains('c') && quantity('1Gi').isGreaterThan(quantity('1Mi'))",
)

JSON_PATCHES: Final = (
    b'[{"op": "add", "path": "/a/b/-", "value": {"x": 1}}, {"op": "copy", "from": "/a", "path": "/z"},'
    b' {"op": "move", "from": "/e", "path": "/a/e"}, {"op": "test", "path": "/a/b/0", "value": 1},'
    b' {"op": "remove", "path": "/a/b/1"}, {"op": "replace", "path": "/a", "value": []}]',
)

PATCHES: Final = (
    b'[{"op": "replace", "path": "/data/k", "value": "w"}, {"op": "add", "path": "/data/l~1m", "value": "x"},'
    b' {"op": "test", "path": "/kind", "value": "ConfigMap"}, {"op": "move", "from": "/data/k", "path": "/data/n"}]',
    b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {x: null}}\ndata: {k: w, $patch: merge}\n",
)

RELEASE: Final = json.dumps(
    {
        "name": "r",
        "namespace": "d",
        "version": 1,
        "manifest": "---\n# Source: c/templates/a.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
        "info": {"status": "deployed", "first_deployed": "2026-01-01T00:00:00Z", "notes": ""},
        "chart": {"metadata": {"name": "c", "version": "1.0.0", "apiVersion": "v2"}, "templates": [], "values": {}},
        "config": {"a": 1},
        "hooks": [{"name": "h", "kind": "Job", "path": "c/h", "manifest": "kind: Job", "events": ["pre-install"]}],
    }
).encode()
