"""Kustomizations built as the kustomize command builds them (v5), without running it and without the network.

What is supported: resources (files and folders), components, configurations, namespace, namePrefix, nameSuffix, labels,
commonLabels, commonAnnotations, patches of all three kinds, images, replicas, replacements, and the generators of
ConfigMaps and Secrets. Everything else is refused by its name.
"""
