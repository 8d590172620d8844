"""Direct installation as commands: install, upgrade, plan, apply, check, delete, restore."""
