"""Commands that write modules: edits of the Kyma, direct installation, Manifests, deletion and restoration."""
