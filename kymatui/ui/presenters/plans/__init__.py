"""Plans and jobs as view models: the effect of a change before you accept it, and its progress."""
