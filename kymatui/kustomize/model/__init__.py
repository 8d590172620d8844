"""The model of a kustomization: fields, resources with name history, field specs, order, files."""
