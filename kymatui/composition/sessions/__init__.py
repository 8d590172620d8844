"""The circle between sessions with a control plane and edits of a Kyma; the cuts send one half of it to adapters,
the other to actions.
"""
