"""The facts of one module: presence, manager, readiness, customStateCheck, known risks, next actor."""
