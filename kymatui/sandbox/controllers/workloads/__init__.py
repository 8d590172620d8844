"""Controllers of workloads, autoscalers and disruption budgets."""
