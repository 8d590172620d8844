"""The build of a kustomization: generators, patches, replacements, name references, transformers."""
