"""Kustomizations, built like the kustomize command (v5) but without running it and without network.

Supported are resources (files and folders), components, configurations, namespace, namePrefix, nameSuffix, labels,
commonLabels, commonAnnotations, patches of all three kinds, images, replicas, replacements, vars, and the generators of
ConfigMaps and Secrets. Any other field is rejected by name.
"""
