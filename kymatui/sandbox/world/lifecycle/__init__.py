"""The simulated lifecycle-manager and the simulated module operators."""
