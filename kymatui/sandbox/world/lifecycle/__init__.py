"""lifecycle-manager of the sample world, which runs the operator's controllers, and simulated module operators."""
