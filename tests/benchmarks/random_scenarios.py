"""Random scenarios of a Kyma's life, for two clusters and a lifecycle-manager: the format of ../shared/klm.

A scenario begins with a catalog and a Kyma; each further step does one or two things that an operator of the control
plane, a user of the runtime or a mishap could do.
"""

from __future__ import annotations

import random
from typing import Any, Final

from kymatui.domain.kyma.manifests import manifest_name

Json = dict[str, Any]
GROUP: Final = "operator.kyma-project.io"
API: Final = f"{GROUP}/v1beta2"
HOME: Final = "kcp-system"
KYMA: Final = "runtime-a"
VERSIONS: Final = {
    "alpha": ("1.0.0", "1.1.0", "2.0.0"),
    "warden": ("1.0.0", "1.1.0"),
    "stateful": ("1.0.0", "1.1.0"),
    "downtime": ("1.0.0", "1.1.0"),
    "faulty": ("1.0.0", "1.0.1"),
    "preview": ("0.1.0", "0.2.0"),
    "inner": ("0.1.0",),
    "fenced": ("1.0.0",),
    "plain": ("1.0.0",),
}
_LABELS: Final = {
    "kyma-project.io/broker-plan-name": "aws",
    "kyma-project.io/instance-id": "instance-a",
    "kyma-project.io/region": "eu-central-1",
    "kyma-project.io/runtime-id": KYMA,
}
_RUNTIME: Final = "kyma-project.io/runtime-id"
_WATCHER: Final[Json] = {
    "apiVersion": API,
    "kind": "Watcher",
    "metadata": {"name": "events", "namespace": HOME, "labels": {f"{GROUP}/managed-by": "lifecycle-manager"}},
    "spec": {
        "field": "spec",
        "gateway": {"selector": {"matchLabels": {f"{GROUP}/watcher-gateway": "default"}}},
        "labelsToWatch": {f"{GROUP}/nobody-has-this": "x"},
        "manager": "lifecycle-manager",
        "resourceToWatch": {"group": GROUP, "resource": "kymas", "version": "*"},
        "serviceInfo": {"name": "klm-events", "namespace": HOME, "port": 8082},
    },
}
_HELD: Final = ["rec.example.org/hold"]
_OBJECTS: Final[tuple[tuple[str, str, str | None, str], ...]] = (
    ("rec.example.org/v1", "Alpha", "kyma-system", "main"),
    ("rec.example.org/v1", "Warden", None, "main"),
    ("apps/v1", "Deployment", "kyma-system", "alpha-manager"),
    ("apps/v1", "Deployment", "kyma-system", "warden-manager"),
    ("apps/v1", "StatefulSet", "stateful-system", "stateful-manager"),
    ("v1", "ConfigMap", "kyma-system", "alpha-config"),
    ("v1", "ServiceAccount", "kyma-system", "alpha-manager"),
)


class RandomScenario:
    """Draws the steps of one scenario, and remembers what of it matters for the next."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._seed = seed
        self._modules: dict[str, list[str]] = {}
        """The versions with a template, by module."""
        self._mandatory: set[str] = set()
        """Not in the list of the Kyma, too: two controllers would then change a label for ever."""
        self._entries: list[Json] = []
        self._held: list[tuple[str, str, str | None, str]] = []
        self._secret, self._watched, self._other = True, False, False

    def draw(self, steps: int) -> Json:
        """Return the scenario, without the states that its steps lead to."""
        restricted = "fenced" if self._chance.random() < 0.3 else ""
        found = [{"name": "0", "do": self._beginning()}]
        menu = (
            *(self._entries_change,) * 5,
            *(self._channels_move,) * 4,
            *(self._kyma_labels, self._kyma_channel, self._objects_change, self._objects_change, self._hold),
            *(self._template_goes, self._template_comes, self._release_meta_goes, self._release_meta_changes),
            *(self._runtime_catalog, self._restart, self._access, self._second_module),
            *(self._runtime_kyma, self._watcher, self._other_kyma, self._manifest, self._manifest),
        )
        for number in range(1, steps + 1):
            do = [one for _ in range(self._chance.choice((1, 1, 1, 2))) for one in self._chance.choice(menu)()]
            if self._held and self._chance.random() < 0.4:
                do = self._let_go()
            found.append({"name": str(number), "do": do})
        if self._chance.random() < 0.4:
            found.append({"name": "deleted", "do": [self._delete("kcp", API, "Kyma", HOME, KYMA)]})
            if self._held:
                found.append({"name": "let go", "do": self._let_go()})
        return {"name": f"random-{self._seed}", "topic": "random", "restricted": restricted, "steps": found}

    # ------------------------------------------------------------- actions

    def _beginning(self) -> list[Json]:
        for name in self._chance.sample(sorted(VERSIONS), self._chance.randint(1, 3)):
            self._modules[name] = [
                one for one in VERSIONS[name] if one == VERSIONS[name][0] or self._chance.random() < 0.8
            ]
        self._mandatory = {one for one in self._modules if self._chance.random() < 0.12}
        do = [self._template(name, version) for name, versions in self._modules.items() for version in versions]
        do += [self._create(self._release_meta(name)) for name in self._modules]
        do.append(self._access_secret())
        labels: Json = {**_LABELS, **self._chance.choice(({}, {}, {f"{GROUP}/beta": "true"}, {"plan": "gold"}))}
        spec: Json = {"channel": self._chance.choice(("regular", "regular", "fast"))}
        if self._chance.random() < 0.6:
            self._entries = self._some_entries()
            spec["modules"] = self._entries
        if self._chance.random() < 0.15:
            spec["skipMaintenanceWindows"] = True
        metadata = {"name": KYMA, "namespace": HOME, "labels": labels, "annotations": {"skr-domain": "skr.example.org"}}
        return [*do, self._create({"apiVersion": API, "kind": "Kyma", "metadata": metadata, "spec": spec})]

    def _entries_change(self) -> list[Json]:
        """Change the modules of the runtime's Kyma: another choice, or another field of one entry."""
        if self._entries and self._chance.random() < 0.5:
            entry = {"name": self._chance.choice(self._entries)["name"]}
            entry = {**entry, **self._some_fields()}
            self._entries = [entry if one["name"] == entry["name"] else one for one in self._entries]
        else:
            self._entries = self._some_entries()
        return [self._patch_runtime_kyma({"spec": {"modules": self._entries}})]

    def _second_module(self) -> list[Json]:
        free = [one for one in VERSIONS if one not in self._modules]
        if not free:
            return []
        name = self._chance.choice(free)
        self._modules[name] = [VERSIONS[name][0]]
        self._entries = [*self._entries, {"name": name}]
        created = [self._template(name, VERSIONS[name][0]), self._create(self._release_meta(name))]
        return [*created, self._patch_runtime_kyma({"spec": {"modules": self._entries}})]

    def _channels_move(self) -> list[Json]:
        name = self._chance.choice(sorted(self._modules))
        spec: Json = self._offer(name)
        if name in self._mandatory:
            spec = {"mandatory": {"version": self._chance.choice(VERSIONS[name])}}
        return [self._patch("kcp", API, "ModuleReleaseMeta", HOME, name, {"spec": spec})]

    def _release_meta_changes(self) -> list[Json]:
        name = self._chance.choice(sorted(self._modules))
        patches: list[Json] = [
            {"spec": {"kymaSelector": {"matchLabels": {"plan": "gold"}}}},
            {"spec": {"kymaSelector": None}},
            {"spec": {"beta": True}},
            {"spec": {"internal": True}},
        ]
        if name in self._mandatory or all(one["name"] != name for one in self._entries):
            patches.append({"spec": {"mandatory": {"version": self._chance.choice(VERSIONS[name])}, "channels": None}})
        patch = self._chance.choice(patches)
        if patch["spec"].get("mandatory"):
            self._mandatory.add(name)
        return [self._patch("kcp", API, "ModuleReleaseMeta", HOME, name, patch)]

    def _kyma_labels(self) -> list[Json]:
        labels: Json = self._chance.choice(
            (
                {f"{GROUP}/beta": "true"},
                {f"{GROUP}/beta": None},
                {f"{GROUP}/internal": "true"},
                {f"{GROUP}/skip-reconciliation": "true"},
                {f"{GROUP}/skip-reconciliation": None},
                {"plan": "gold"},
                {"plan": None},
                {"kyma-project.io/global-account-id": "ga-2"},
                {f"{GROUP}/managed-by": None},
            )
        )
        return [self._patch("kcp", API, "Kyma", HOME, KYMA, {"metadata": {"labels": labels}})]

    def _kyma_channel(self) -> list[Json]:
        channel = self._chance.choice(("regular", "fast", "fast", "ghost"))
        return [self._patch_runtime_kyma({"spec": {"channel": channel}})]

    def _runtime_kyma(self) -> list[Json]:
        patch: Json = self._chance.choice(
            (
                {"metadata": {"labels": {f"{GROUP}/managed-by": None, "mine": "x"}}},
                {"metadata": {"finalizers": None}},
                {"metadata": {"annotations": None}},
                {"spec": {"skipMaintenanceWindows": True}},
            )
        )
        return [self._patch_runtime_kyma(patch)]

    def _objects_change(self) -> list[Json]:
        """Edit or delete an object of a module on the runtime."""
        target = self._chance.choice(_OBJECTS)
        if self._chance.random() < 0.5:
            return [self._delete("skr", *target)]
        patch: Json = {"metadata": {"labels": {"mine": "x"}}}
        if target[1] in ("Alpha", "Warden"):
            patch["spec"] = {"size": 7} if target[1] == "Alpha" else {"mode": "hard"}
        elif target[1] in ("Deployment", "StatefulSet"):
            patch["spec"] = {"replicas": 3}
        elif target[1] == "ConfigMap":
            patch["data"] = {"version": "drifted"}
        return [self._patch("skr", *target, patch)]

    def _hold(self) -> list[Json]:
        target = self._chance.choice(_OBJECTS)
        self._held.append(target)
        return [self._patch("skr", *target, {"metadata": {"finalizers": _HELD}})]

    def _let_go(self) -> list[Json]:
        held, self._held = self._held, []
        return [self._patch("skr", *target, {"metadata": {"finalizers": None}}) for target in held]

    def _template_goes(self) -> list[Json]:
        name = self._chance.choice(sorted(self._modules))
        return [self._delete("kcp", API, "ModuleTemplate", HOME, f"{name}-{self._chance.choice(VERSIONS[name])}")]

    def _template_comes(self) -> list[Json]:
        name = self._chance.choice(sorted(self._modules))
        return [self._template(name, self._chance.choice(VERSIONS[name]))]

    def _release_meta_goes(self) -> list[Json]:
        name = self._chance.choice(sorted(self._modules))
        if self._chance.random() < 0.5:
            return [self._create(self._release_meta(name))]
        return [self._delete("kcp", API, "ModuleReleaseMeta", HOME, name)]

    def _runtime_catalog(self) -> list[Json]:
        """Change what was copied to the runtime, or add a template of the user's own there."""
        name = self._chance.choice(sorted(self._modules))
        template = (API, "ModuleTemplate", "kyma-system", f"{name}-{VERSIONS[name][0]}")
        meta = (API, "ModuleReleaseMeta", "kyma-system", name)
        mine: Json = {"metadata": {"name": "mine-1.0.0", "namespace": "kyma-system"}}
        return self._chance.choice(
            (
                [self._delete("skr", *template)],
                [self._delete("skr", *meta)],
                [self._patch("skr", *template, {"spec": {"version": "7.7.7"}})],
                [self._patch("skr", *meta, {"spec": {"channels": [{"channel": "regular", "version": "7.7.7"}]}})],
                [{**self._template(name, VERSIONS[name][0], mine), "on": "skr"}],
            )
        )

    def _restart(self) -> list[Json]:
        between = self._chance.choice((self._entries_change, self._channels_move, self._objects_change))()
        return [{"do": "stop"}, *between, {"do": "start"}]

    def _access(self) -> list[Json]:
        """Take the access away, break it, or bring it back."""
        secret = ("kcp", "v1", "Secret", HOME, f"kubeconfig-{KYMA}")
        if not self._secret:
            self._secret = True
            return [self._access_secret(), self._patch(*secret, {"data": {"config": "${SKR}", "kubeconfig": None}})]
        self._secret = False
        data: Json = self._chance.choice(
            ({}, {"config": "${SKR-BAD-TOKEN}"}, {"config": "${SKR-CLOSED}"}, {"config": None, "kubeconfig": "${SKR}"})
        )
        return [self._patch(*secret, {"data": data}) if data else self._delete(*secret)]

    def _watcher(self) -> list[Json]:
        target = ("kcp", API, "Watcher", HOME, "events")
        if not self._watched:
            self._watched = True
            return [self._create(_WATCHER)]
        patch: Json = self._chance.choice(
            (
                {"spec": {"serviceInfo": {"port": 8099}}},
                {"spec": {"gateway": {"selector": {"matchLabels": {f"{GROUP}/watcher-gateway": "other"}}}}},
                {"spec": {"gateway": {"selector": {"matchLabels": {f"{GROUP}/watcher-gateway": "default"}}}}},
                {"spec": {"manager": "another"}},
                {},
            )
        )
        self._watched = bool(patch)
        return [self._patch(*target, patch) if patch else self._delete(*target)]

    def _other_kyma(self) -> list[Json]:
        """Create or delete a second Kyma, without access."""
        self._other = not self._other
        if not self._other:
            return [self._delete("kcp", API, "Kyma", HOME, "runtime-b")]
        metadata = {"name": "runtime-b", "namespace": HOME, "labels": {**_LABELS, _RUNTIME: "runtime-b"}}
        spec = {"channel": "regular", "modules": [{"name": name} for name in sorted(self._modules)[:1]]}
        return [self._create({"apiVersion": API, "kind": "Kyma", "metadata": metadata, "spec": spec})]

    def _manifest(self) -> list[Json]:
        """Edit or delete a Manifest by hand."""
        module = self._chance.choice(sorted(self._modules))
        name = manifest_name(KYMA, f"kyma-project.io/module/{module}", module)
        target = ("kcp", API, "Manifest", HOME, name)
        patch: Json = self._chance.choice(
            (
                {"metadata": {"labels": {f"{GROUP}/skip-reconciliation": "true"}}},
                {"metadata": {"labels": {f"{GROUP}/skip-reconciliation": None}}},
                {"metadata": {"labels": {f"{GROUP}/channel": "other", "mine": "x"}}},
                {"spec": {"customResourcePolicy": "Ignore"}},
                {},
            )
        )
        return [self._patch(*target, patch) if patch else self._delete(*target)]

    # ------------------------------------------------------------- objects

    def _some_entries(self) -> list[Json]:
        free = sorted(self._modules.keys() - self._mandatory)
        names = self._chance.sample(free, self._chance.randint(0, len(free)))
        if self._chance.random() < 0.05:
            names.append("unknown")
        return [{"name": name, **(self._some_fields() if self._chance.random() < 0.4 else {})} for name in names]

    def _some_fields(self) -> Json:
        return self._chance.choice(
            (
                {},
                {"channel": "fast"},
                {"channel": "regular"},
                {"channel": "ghost"},
                {"channel": "none"},
                {"customResourcePolicy": "Ignore"},
                {"customResourcePolicy": "CreateAndDelete"},
                {"managed": False},
            )
        )

    def _offer(self, name: str) -> Json:
        versions = VERSIONS[name]
        channels = [{"channel": "regular", "version": self._chance.choice(versions)}]
        if self._chance.random() < 0.7:
            channels.append({"channel": "fast", "version": self._chance.choice(versions)})
        if self._chance.random() < 0.08:
            channels.append({"channel": "ghost", "version": "9.9.9"})
        return {"channels": channels}

    def _release_meta(self, name: str) -> Json:
        spec: Json = {"moduleName": name, "ocmComponentName": f"kyma-project.io/module/{name}", **self._offer(name)}
        if name in self._mandatory:
            del spec["channels"]
            spec["mandatory"] = {"version": self._chance.choice(VERSIONS[name])}
        if name == "fenced" or self._chance.random() < 0.1:
            spec["kymaSelector"] = {"matchLabels": {"plan": "gold"}}
        return {
            "apiVersion": API,
            "kind": "ModuleReleaseMeta",
            "metadata": {"name": name, "namespace": HOME},
            "spec": spec,
        }

    def _template(self, name: str, version: str, other: Json | None = None) -> Json:
        other = other or {}
        if name == "inner":
            other = {**other, "metadata": {**other.get("metadata", {}), "labels": {f"{GROUP}/internal": "true"}}}
        return self._create({"$template": f"{name}-{version}", "with": other})

    def _access_secret(self) -> Json:
        labels = {f"{GROUP}/kyma-name": KYMA, f"{GROUP}/managed-by": "lifecycle-manager"}
        metadata = {"name": f"kubeconfig-{KYMA}", "namespace": HOME, "labels": labels}
        return self._create({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": {"config": "${SKR}"}})

    def _patch_runtime_kyma(self, patch: Json) -> Json:
        return self._patch("skr", API, "Kyma", "kyma-system", "default", patch)

    @staticmethod
    def _create(body: Json) -> Json:
        return {"do": "create", "on": "kcp", "object": body, "may_fail": True}

    @staticmethod
    def _patch(on: str, api: str, kind: str, namespace: str | None, name: str, patch: Json) -> Json:
        return {"do": "patch", "on": on, "target": [api, kind, namespace, name], "patch": patch, "may_fail": True}

    @staticmethod
    def _delete(on: str, api: str, kind: str, namespace: str | None, name: str) -> Json:
        return {"do": "delete", "on": on, "target": [api, kind, namespace, name], "may_fail": True}
