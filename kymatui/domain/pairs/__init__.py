"""One runtime from both of its sides: what the control plane has of it, and what is in the runtime itself."""
