"""The registry under the client library that others use."""

from __future__ import annotations

from pathlib import Path

import oras.client
import oras.oci

from kymatui.sandbox.registry.registry_access import RegistryAccess, RegistryUser, Scheme
from tests.sandbox.registry.conftest import Serve, Served


def pushed(served: Served, folder: Path, client: oras.client.OrasClient) -> str:
    layer = folder / "raw-manifest.yaml"
    layer.write_text("kind: ConfigMap\n")
    target = f"{served.registry.address}/modules/keda:1.0.0"
    client.push(target=target, files=[f"{layer}:application/x-yaml"], disable_path_validation=True)
    return target


def test_push_and_pull(served: Served, tmp_path: Path) -> None:
    client = oras.client.OrasClient(insecure=True)
    target = pushed(served, tmp_path, client)
    out = tmp_path / "out"
    [found] = client.pull(target=target, outdir=str(out))
    assert Path(found).read_text() == "kind: ConfigMap\n"
    assert client.get_tags(target) == ["1.0.0"]
    client.delete_tag(target, "1.0.0")
    assert served.registry.store.tags("modules/keda") == []


def test_push_in_chunks(served: Served, tmp_path: Path) -> None:
    client = oras.client.OrasClient(insecure=True)
    blob = tmp_path / "blob"
    blob.write_bytes(bytes(range(256)) * 64)
    container = client.get_container(f"{served.registry.address}/r:1")
    layer = oras.oci.NewLayer(str(blob), media_type="application/x-tar")
    answer = client.upload_blob(str(blob), container, layer, do_chunked=True, chunk_size=5000)
    assert answer.status_code == 201
    assert served.registry.store.blob("r", layer["digest"]) == blob.read_bytes()


def test_push_with_a_password(serve: Serve, tmp_path: Path) -> None:
    served = serve(access=RegistryAccess(Scheme.BASIC, {"dev": RegistryUser("pw")}))
    client = oras.client.OrasClient(insecure=True, auth_backend="basic")
    client.auth.set_basic_auth("dev", "pw")
    pushed(served, tmp_path, client)
    assert served.registry.store.tags("modules/keda") == ["1.0.0"]
