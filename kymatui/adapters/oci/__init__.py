"""OCI registries through oras, with its measured defects corrected.

oras verifies no digest, repeats a refused connection for two minutes, reuses a pull token for a push, and knows
neither image indexes nor referrers. `Registry` is an `oras.provider.Registry` with its own requests, manifests and
blobs:

    registry = Registry(credentials=DockerCredentials().find)
    manifest = registry.fetch_manifest("ghcr.io/kyma-project/modules/istio:1.20.3")
    for chunk in registry.read_blob(manifest.reference, manifest.layers[0]): ...

`RegistryArtifacts` is the port of the actions on bundles.

Every failure is a `RegistryError` that names the registry, the repository and what to do.
"""
