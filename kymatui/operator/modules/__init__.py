"""Manifests of Kymas' modules, reconciled as lifecycle-manager does it; other Manifests are in the manifest folder."""
