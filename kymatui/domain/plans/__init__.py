"""The parts of any plan: cluster target, manager, chosen template, deleted objects, preview and job."""
