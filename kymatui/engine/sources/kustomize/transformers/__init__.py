"""What a kustomization does to its resources: generators, patches, replacements, name references, built-in
transformers, and the build that runs them.
"""
