"""The simulated lifecycle-manager and module operators."""
