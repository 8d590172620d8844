"""Which cluster a front end wants, and what may be done to it."""

from __future__ import annotations

from msgspec import Struct

from kymatui.adapters.kube.auth.kubeconfig import NO_OVERRIDES, AccessOverrides


class SessionOptions(Struct, frozen=True):
    """The words of the command line; "" where a person said nothing.

    `catalogs` are sources of community modules outside of the cluster: URLs, files, folders. `maintenance_policy` is a
    file and `restricted_modules` are names: what is configured for lifecycle-manager, and no cluster shows. With `once`
    everything is listed and nothing watched: it is for whoever looks at the first snapshot, and leaves.
    `access` is who sends the requests, and for how long.
    """

    kubeconfig: str = ""
    context: str = ""
    namespace: str = ""
    read_only: bool = False
    catalogs: tuple[str, ...] = ()
    maintenance_policy: str = ""
    restricted_modules: tuple[str, ...] = ()
    once: bool = False
    access: AccessOverrides = NO_OVERRIDES


class RemoteOptions(Struct, frozen=True):
    """The control plane, and if one was named, a runtime: its name, and its cluster where that is named by hand."""

    control: SessionOptions
    runtime: str = ""
    by_hand: SessionOptions | None = None


__all__ = ["AccessOverrides", "RemoteOptions", "SessionOptions"]
