"""Use cases of components in registries: sign, verify, pull, add. How they are built is in actions/authoring."""
