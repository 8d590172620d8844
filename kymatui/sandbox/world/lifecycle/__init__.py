"""lifecycle-manager of the sample world, for Kymas the operator's controllers, and simulated module operators."""
