"""The operator, a wing: controllers that reconcile Kymas and Manifests as lifecycle-manager does, and its installation.

Nothing of the core imports it; `kymatui operator` does, late.

To add one:

1. Make a folder here, or a file in the folder of a related controller, with a class that has the members of
   `framework.controller.OperatorController`: `watches` names the kinds of the control plane (`KindWatch.keys` maps a
   changed object to the objects to reconcile, `listed` reconciles all objects at the start), `reconcile` does what is
   possible now and returns the seconds until the next time (`RequeueIntervals.of(state)`). A KymatuiError is retried
   with increasing delays.
2. Get the cluster of a Kyma's runtime from a `framework.runtime_cache.RuntimeCache` of the controller's own, and
   `forget` it if `is_connection_failure(error)`. Watch objects of runtimes with `framework.dependency_watches`: `begin`
   in the controller's `begin`, `watch` during a reconciliation, `end` in its `end`.
3. Register it in `CONTROLLERS` of `operator/program.py`, under the name that `--controllers` takes. All
   controllers of a control plane run in one `framework.controller_group.ControllerGroup`, under one Lease.

What the Kyma controller asks others to do on a runtime, and reports as conditions of the Kyma: the catalogs folder has
`RuntimeCatalog`, the watchers folder implements `kymas.kyma_context.RuntimeWebhookSync`.
Every write is made as `OPERATOR_FIELD_MANAGER`, through the port `engine.cluster.ports.Cluster`.
"""
