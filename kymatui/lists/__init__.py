"""The lists that both screens and commands display: one table of columns each. No widgets, no printing."""
