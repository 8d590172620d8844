"""What an API server checks of objects: types, schemas of built-in kinds and of CRDs, validation rules, CEL.

A library that knows nothing of Kyma. `bundle lint` asks it what a server would refuse, and the sandbox refuses it.
"""
