"""The use cases of modules that kymatui installs itself: what is installed, from where, and by which plan."""
