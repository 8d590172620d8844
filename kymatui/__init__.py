"""kymatui: a terminal UI and toolbox for operators of Kubernetes clusters that run Kyma modules.

The packages form one direction of imports (`tests/test_architecture.py` holds it): `cli` and `ui` are two front ends.
They call `actions`, the use cases, with what `sessions` opens of `adapters`. These know `engine`, and
below it stand `helm`, `ocm` and `domain`. All of them import `errors`.
"""

__version__ = "0.1.0"
