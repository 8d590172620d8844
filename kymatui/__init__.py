"""kymatui: a terminal UI and toolbox for operators of Kubernetes clusters that run Kyma modules.

The packages form one direction of imports (`tests/test_architecture.py` holds it): `cli` and `ui` are two front ends
over `wiring`, which knows `adapters`, `sandbox` and `actions`, the use cases, one verb a file; these know `engine`, and
below it stand the pure `helm`, `ocm` and `domain`.
"""

__version__ = "0.1.0"
