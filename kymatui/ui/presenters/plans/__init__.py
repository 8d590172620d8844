"""Plans and jobs as view models: what a change would do before a person accepts it, and its progress afterwards."""
