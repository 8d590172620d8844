"""Merge strategies of lists and maps of built-in kinds (see `field_facts` for the table format)."""

from __future__ import annotations

from kymatui.schemas.types.field_facts import named

LIST_MAPS = named(
    """
    name: CSINodeSpec.drivers Container.env ContainerStatus.allocatedResourcesStatus EphemeralContainer.env
        MutatingWebhook.matchConditions MutatingWebhookConfiguration.webhooks PodSpec.containers
        PodSpec.ephemeralContainers PodSpec.imagePullSecrets PodSpec.initContainers PodSpec.resourceClaims
        PodSpec.schedulingGates PodSpec.volumes PodStatus.resourceClaimStatuses ServiceAccount.secrets
        ValidatingWebhook.matchConditions ValidatingWebhookConfiguration.webhooks
    type: ComponentStatus.conditions DaemonSetStatus.conditions DeploymentStatus.conditions
        HorizontalPodAutoscalerStatus.conditions NamespaceStatus.conditions NodeStatus.addresses
        NodeStatus.conditions PersistentVolumeClaimStatus.conditions PodDisruptionBudgetStatus.conditions
        PodStatus.conditions ReplicaSetStatus.conditions ReplicationControllerStatus.conditions
        ServiceStatus.conditions StatefulSetStatus.conditions
    containerPort,protocol: Container.ports EphemeralContainer.ports
    devicePath: Container.volumeDevices EphemeralContainer.volumeDevices
    mountPath: Container.volumeMounts ContainerStatus.volumeMounts EphemeralContainer.volumeMounts
    ip: PodSpec.hostAliases PodStatus.podIPs
    topologyKey,whenUnsatisfiable: PodSpec.topologySpreadConstraints
    port,protocol: ServiceSpec.ports
    rule: JSONSchemaProps.x-kubernetes-validations
    uid: ObjectMeta.ownerReferences
    """
)
"""Lists whose items are told apart by keys; patches merge them by the first key."""

UNPATCHED_LIST_MAPS = named(
    """
    name: ResourceRequirements.claims
    resourceID: ResourceStatus.resources
    type: CustomResourceDefinitionStatus.conditions
    """
)
"""Lists with keys that strategic merge patches replace as a whole."""

SETS = named(
    """
    replace: CSIDriverSpec.volumeLifecycleModes ContainerRestartRuleOnExitCodes.values Endpoint.addresses
        NodeAllocatableResourceClaimStatus.containers PodFailurePolicyOnExitCodesRequirement.values
        UncountedTerminatedPods.failed UncountedTerminatedPods.succeeded
        ValidatingAdmissionPolicyBindingSpec.validationActions
    merge: NodeSpec.podCIDRs ObjectMeta.finalizers
    """
)
"""Lists without duplicates; "merge" where strategic merge patches add to them."""

MERGED_LISTS = named(
    """
    ip: PodStatus.hostIPs
    type: JobStatus.conditions
    """
)
"""Lists that strategic merge patches merge by a key, though one manager owns them whole."""

ATOMIC_TYPES = frozenset(
    (
        "ConfigMapKeySelector",
        "EndpointAddress",
        "EndpointPort",
        "FileKeySelector",
        "LabelSelector",
        "LocalObjectReference",
        "MatchResources",
        "NamedRuleWithOperations",
        "NodeSelector",
        "NodeSelectorTerm",
        "ObjectFieldSelector",
        "ObjectReference",
        "OwnerReference",
        "ParamKind",
        "ParamRef",
        "ResourceFieldSelector",
        "RoleRef",
        "ScopeSelector",
        "SecretKeySelector",
        "SecretReference",
        "ServiceBackendPort",
        "Subject",
        "TopologySelectorTerm",
        "TypedLocalObjectReference",
        "Variable",
    )
)
"""Structs that one manager owns as a whole."""

ATOMIC_FIELDS = frozenset(
    (
        "ControllerRevision.data",
        "PodSpec.nodeSelector",
        "ReplicationControllerSpec.selector",
        "Scheduling.nodeSelector",
        "ServiceSpec.selector",
    )
)
"""Maps that one manager owns as a whole."""

GRANULAR_FIELDS = frozenset(("PersistentVolumeClaimStatus.allocatedResourceStatuses", "PersistentVolumeSpec.claimRef"))
"""Fields of an atomic type that merge all the same."""

PATCH_STRATEGIES = {
    "DeploymentSpec.strategy": ("retainKeys",),
    "PodSpec.resourceClaims": ("merge", "retainKeys"),
    "PodSpec.volumes": ("merge", "retainKeys"),
    "PodStatus.resourceClaimStatuses": ("merge", "retainKeys"),
    "PodDisruptionBudgetSpec.selector": ("replace",),
}
"""Strategies of strategic merge patches other than merging by key."""
