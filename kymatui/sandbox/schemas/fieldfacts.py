"""What the wire says of built-in kinds beyond their fields' names: widths, emptiness, lists that merge.

The names, types and descriptions of fields come from the models of the official client; these tables hold what those
leave out. An entry reads `Type: field field`.
"""

from __future__ import annotations


def fields(text: str) -> frozenset[str]:
    """ "Type.field" of every entry; continued lines are indented further."""
    found: list[str] = []
    name = ""
    for line in text.splitlines():
        words = line.split()
        if words and words[0].endswith(":"):
            name, words = words[0][:-1], words[1:]
        found += [f"{name}.{word}" for word in words]
    return frozenset(found)


def _named(text: str) -> dict[str, str]:
    """ "Type.field" to the word in front of its line."""
    found: dict[str, str] = {}
    word = ""
    for line in text.splitlines():
        words = line.split()
        if words and words[0].endswith(":"):
            word, words = words[0][:-1], words[1:]
        found.update(dict.fromkeys(words, word))
    return found


POINTER_STRINGS = fields(
    """
    AppArmorProfile: localhostProfile
    AzureDiskVolumeSource: fsType
    AzureFilePersistentVolumeSource: secretNamespace
    CSIVolumeSource: fsType
    ClusterTrustBundleProjection: name signerName
    CronJobSpec: timeZone
    CustomResourceDefinitionVersion: deprecationWarning
    CustomResourceSubresourceScale: labelSelectorPath
    EndpointAddress: nodeName
    EndpointPort: appProtocol
    GRPCAction: service
    GlusterfsPersistentVolumeSource: endpointsNamespace
    ISCSIPersistentVolumeSource: initiatorName
    ISCSIVolumeSource: initiatorName
    IngressClassParametersReference: apiGroup scope namespace
    IngressPortStatus: error
    IngressSpec: ingressClassName
    JSONSchemaProps: $ref x-kubernetes-list-type x-kubernetes-map-type
    JobSpec: managedBy
    JobStatus: failedIndexes
    LeaseSpec: holderIdentity preferredHolder
    LocalVolumeSource: fsType
    PersistentVolumeClaimSpec: storageClassName volumeAttributesClassName
    PersistentVolumeClaimStatus: currentVolumeAttributesClassName
    PersistentVolumeSpec: volumeAttributesClassName
    PodDNSConfigOption: value
    PodFailurePolicyOnExitCodesRequirement: containerName
    PodResourceClaim: resourceClaimName resourceClaimTemplateName
    PodResourceClaimStatus: resourceClaimName
    PodSchedulingGroup: podGroupName
    PodSpec: runtimeClassName hostnameOverride
    PortStatus: error
    Preconditions: resourceVersion
    ResourceHealth: message
    SeccompProfile: localhostProfile
    ServicePort: appProtocol
    ServiceReference: path path
    ServiceSpec: loadBalancerClass trafficDistribution
    SuccessPolicyRule: succeededIndexes
    TypedLocalObjectReference: apiGroup
    TypedObjectReference: apiGroup namespace
    WebhookClientConfig: url url
    WindowsSecurityContextOptions: gmsaCredentialSpecName gmsaCredentialSpec runAsUserName
    """
)
"""Optional strings that may be empty: "" is kept."""

PLAIN_INTEGERS = fields(
    """
    AWSElasticBlockStoreVolumeSource: partition
    Condition: observedGeneration
    ContainerImage: sizeBytes
    ContainerPort: hostPort
    ContainerStateTerminated: signal
    CustomResourceColumnDefinition: priority
    CustomResourceDefinitionCondition: observedGeneration
    CustomResourceDefinitionStatus: observedGeneration
    DaemonSetSpec: minReadySeconds
    DaemonSetStatus: observedGeneration updatedNumberScheduled numberAvailable numberUnavailable
    DeploymentSpec: minReadySeconds
    DeploymentStatus: observedGeneration replicas updatedReplicas readyReplicas availableReplicas
        unavailableReplicas
    Event: count deprecatedCount
    EventSeries: count
    GCEPersistentDiskVolumeSource: partition
    HorizontalPodAutoscalerStatus: currentReplicas
    JobStatus: active succeeded failed
    ObjectMeta: generation
    PodCondition: observedGeneration
    PodDisruptionBudgetStatus: observedGeneration
    PodStatus: observedGeneration
    Probe: initialDelaySeconds timeoutSeconds periodSeconds successThreshold failureThreshold
    ReplicaSetSpec: minReadySeconds
    ReplicaSetStatus: fullyLabeledReplicas readyReplicas availableReplicas observedGeneration
    ReplicationControllerSpec: minReadySeconds
    ReplicationControllerStatus: fullyLabeledReplicas readyReplicas availableReplicas observedGeneration
    ScaleSpec: replicas
    ServiceBackendPort: number
    ServicePort: nodePort
    ServiceSpec: healthCheckNodePort
    StatefulSetSpec: minReadySeconds
    StatefulSetStatus: observedGeneration readyReplicas currentReplicas updatedReplicas
    """
)
"""Optional integers that are dropped at 0; other optional integers keep it."""

PLAIN_BOOLEANS = fields(
    """
    AWSElasticBlockStoreVolumeSource: readOnly
    AzureFilePersistentVolumeSource: readOnly
    AzureFileVolumeSource: readOnly
    CSIPersistentVolumeSource: readOnly
    CephFSPersistentVolumeSource: readOnly
    CephFSVolumeSource: readOnly
    CinderPersistentVolumeSource: readOnly
    CinderVolumeSource: readOnly
    Container: stdin stdinOnce tty
    CustomResourceDefinitionSpec: preserveUnknownFields
    CustomResourceDefinitionVersion: deprecated
    DeploymentSpec: paused
    EphemeralContainer: stdin stdinOnce tty
    FCVolumeSource: readOnly
    FlexPersistentVolumeSource: readOnly
    FlexVolumeSource: readOnly
    GCEPersistentDiskVolumeSource: readOnly
    GlusterfsPersistentVolumeSource: readOnly
    GlusterfsVolumeSource: readOnly
    ISCSIPersistentVolumeSource: readOnly chapAuthDiscovery chapAuthSession
    ISCSIVolumeSource: readOnly chapAuthDiscovery chapAuthSession
    JSONSchemaProps: exclusiveMaximum exclusiveMinimum uniqueItems nullable x-kubernetes-embedded-resource
        x-kubernetes-int-or-string
    NFSVolumeSource: readOnly
    NodeSpec: unschedulable
    PersistentVolumeClaimVolumeSource: readOnly
    PodSpec: hostNetwork hostPID hostIPC
    PortworxVolumeSource: readOnly
    PriorityClass: globalDefault
    QuobyteVolumeSource: readOnly
    RBDPersistentVolumeSource: readOnly
    RBDVolumeSource: readOnly
    ScaleIOPersistentVolumeSource: sslEnabled readOnly
    ScaleIOVolumeSource: sslEnabled readOnly
    ServiceSpec: publishNotReadyAddresses
    StorageOSPersistentVolumeSource: readOnly
    StorageOSVolumeSource: readOnly
    SubjectAccessReviewStatus: denied
    TokenReviewStatus: authenticated
    VolumeMount: readOnly
    VolumeMountStatus: readOnly
    """
)
"""Optional booleans that are dropped at false; other optional booleans keep it."""

LONG_INTEGERS = fields(
    """
    Condition: observedGeneration
    ContainerImage: sizeBytes
    ControllerRevision: revision
    CronJobSpec: startingDeadlineSeconds
    CustomResourceDefinitionCondition: observedGeneration
    CustomResourceDefinitionStatus: observedGeneration
    DaemonSetStatus: observedGeneration
    DeleteOptions: gracePeriodSeconds
    DeploymentStatus: observedGeneration
    HorizontalPodAutoscalerStatus: observedGeneration
    JSONSchemaProps: maxLength minLength maxItems minItems maxProperties minProperties
    JobSpec: activeDeadlineSeconds
    LinuxContainerUser: uid gid
    NodeSwapStatus: capacity
    ObjectMeta: generation deletionGracePeriodSeconds
    PodCondition: observedGeneration
    PodDisruptionBudgetStatus: observedGeneration
    PodSecurityContext: runAsUser runAsGroup fsGroup
    PodSpec: terminationGracePeriodSeconds activeDeadlineSeconds
    PodStatus: observedGeneration
    Probe: terminationGracePeriodSeconds
    ReplicaSetStatus: observedGeneration
    ReplicationControllerStatus: observedGeneration
    SecurityContext: runAsUser runAsGroup
    ServiceAccountTokenProjection: expirationSeconds
    SleepAction: seconds
    StatefulSetStatus: observedGeneration
    TokenRequestSpec: expirationSeconds
    Toleration: tolerationSeconds
    """
)
"""Integers of 64 bits; the others have 32."""

QUANTITIES = fields(
    """
    ContainerStatus: allocatedResources
    EmptyDirVolumeSource: sizeLimit
    HPAScalingRules: tolerance
    LimitRangeItem: max min default defaultRequest maxLimitRequestRatio
    MetricTarget: value averageValue
    MetricValueStatus: value averageValue
    NodeAllocatableResourceClaimStatus: resources
    NodeStatus: capacity allocatable
    PersistentVolumeClaimStatus: capacity allocatedResources
    PersistentVolumeSpec: capacity
    PodSpec: overhead
    PodStatus: allocatedResources
    ResourceFieldSelector: divisor
    ResourceQuotaSpec: hard
    ResourceQuotaStatus: hard used
    ResourceRequirements: limits requests
    VolumeResourceRequirements: limits requests
    """
)
"""Resource quantities, or maps of them: numbers are taken too."""

MICRO_TIMES = fields(
    """
    Event: eventTime eventTime
    EventSeries: lastObservedTime lastObservedTime
    LeaseSpec: acquireTime renewTime
    """
)
"""Times with microseconds."""

PLAIN_TIMES = fields(
    """
    Condition: lastTransitionTime
    ContainerStateRunning: startedAt
    ContainerStateTerminated: startedAt finishedAt
    CustomResourceDefinitionCondition: lastTransitionTime
    DaemonSetCondition: lastTransitionTime
    DeploymentCondition: lastUpdateTime lastTransitionTime
    Event: firstTimestamp lastTimestamp eventTime eventTime deprecatedFirstTimestamp deprecatedLastTimestamp
    EventSeries: lastObservedTime lastObservedTime
    HorizontalPodAutoscalerCondition: lastTransitionTime
    JobCondition: lastProbeTime lastTransitionTime
    NamespaceCondition: lastTransitionTime
    NodeCondition: lastHeartbeatTime lastTransitionTime
    PersistentVolumeClaimCondition: lastProbeTime lastTransitionTime
    PodCondition: lastProbeTime lastTransitionTime
    ReplicaSetCondition: lastTransitionTime
    ReplicationControllerCondition: lastTransitionTime
    StatefulSetCondition: lastTransitionTime
    TokenRequestStatus: expirationTimestamp
    """
)
"""Times that are shown as null where they are not set."""

PLAIN_STRUCTS = fields(
    """
    Binding: target
    ClusterRoleBinding: roleRef
    Container: resources
    ContainerResourceMetricSource: target
    ContainerResourceMetricStatus: current
    ContainerStatus: state lastState
    CronJob: spec status
    CronJobSpec: jobTemplate
    CustomResourceDefinition: spec status
    CustomResourceDefinitionSpec: names
    CustomResourceDefinitionStatus: acceptedNames
    DaemonSet: spec status
    DaemonSetSpec: template updateStrategy
    Deployment: spec status
    DeploymentSpec: template strategy
    EphemeralContainer: resources
    Event: involvedObject source regarding deprecatedSource
    ExternalMetricSource: metric target
    ExternalMetricStatus: metric current
    HTTPIngressPath: backend
    HorizontalPodAutoscaler: spec status
    HorizontalPodAutoscalerSpec: scaleTargetRef
    Ingress: spec status
    IngressClass: spec
    IngressServiceBackend: port
    IngressStatus: loadBalancer
    Job: spec status
    JobSpec: template
    JobTemplateSpec: spec
    Lease: spec
    LimitRange: spec
    LocalSubjectAccessReview: spec status
    MutatingWebhook: clientConfig
    Namespace: spec status
    NetworkPolicy: spec
    NetworkPolicySpec: podSelector
    Node: spec status
    NodeDaemonEndpoints: kubeletEndpoint
    NodeStatus: daemonEndpoints nodeInfo
    ObjectMetricSource: describedObject target metric
    ObjectMetricStatus: metric current describedObject
    PersistentVolume: spec status
    PersistentVolumeClaim: spec status
    PersistentVolumeClaimSpec: resources
    PersistentVolumeClaimTemplate: spec
    Pod: spec status
    PodDisruptionBudget: spec status
    PodTemplate: template
    PodTemplateSpec: spec
    PodsMetricSource: metric target
    PodsMetricStatus: metric current
    PreferredSchedulingTerm: preference
    ReplicaSet: spec status
    ReplicaSetSpec: template
    ReplicationController: spec status
    ResourceMetricSource: target
    ResourceMetricStatus: current
    ResourceQuota: spec status
    RoleBinding: roleRef
    Scale: spec status
    SelfSubjectAccessReview: spec status
    SelfSubjectReview: status
    SelfSubjectReviewStatus: userInfo
    SelfSubjectRulesReview: spec status
    Service: spec status
    ServiceStatus: loadBalancer
    StatefulSet: spec status
    StatefulSetSpec: template updateStrategy
    SubjectAccessReview: spec status
    TokenRequest: spec status
    TokenReview: spec status
    TokenReviewStatus: user
    ValidatingWebhook: clientConfig
    WeightedPodAffinityTerm: podAffinityTerm
    """
)
"""Structs that are always shown, as {} where nothing is set."""

KEPT_COLLECTIONS = fields(
    """
    CephFSPersistentVolumeSource: monitors
    CephFSVolumeSource: monitors
    ClusterRole: rules
    ContainerImage: names
    CustomResourceDefinitionSpec: versions
    CustomResourceDefinitionStatus: conditions storedVersions
    HTTPIngressRuleValue: paths
    HorizontalPodAutoscalerStatus: currentMetrics
    LimitRangeSpec: limits
    MutatingWebhook: admissionReviewVersions
    NodeAllocatableResourceClaimStatus: resources
    NodeSelector: nodeSelectorTerms
    NonResourceRule: verbs
    PodExtendedResourceClaimStatus: requestMappings
    PodFailurePolicy: rules
    PodFailurePolicyOnExitCodesRequirement: values
    PodSpec: containers
    PolicyRule: verbs
    ProjectedVolumeSource: sources
    RBDPersistentVolumeSource: monitors
    RBDVolumeSource: monitors
    ResourceRule: verbs
    Role: rules
    SubjectRulesReviewStatus: resourceRules nonResourceRules
    SuccessPolicy: rules
    TokenRequestSpec: audiences
    TopologySelectorLabelRequirement: values
    ValidatingWebhook: admissionReviewVersions
    WebhookConversion: conversionReviewVersions
    """
)
"""Lists and maps that are shown even when they are empty (null where they are not given)."""

KEPT_POINTERS = fields(
    """
    AzureFilePersistentVolumeSource: secretNamespace
    DaemonSetSpec: selector
    DeploymentSpec: selector
    GRPCAction: service
    HTTPIngressPath: pathType
    IngressClassParametersReference: scope
    MutatingWebhook: sideEffects
    ReplicaSetSpec: selector
    ScaleIOPersistentVolumeSource: secretRef
    ScaleIOVolumeSource: secretRef
    StatefulSetSpec: selector
    TokenRequestSpec: expirationSeconds boundObjectRef
    TypedLocalObjectReference: apiGroup
    TypedObjectReference: apiGroup
    ValidatingWebhook: sideEffects
    """
)
"""Optional values that are shown as null where they are not given."""

STRING_TYPES = _named(
    """
    types.UID: BoundObjectReference.uid ConfigMapNodeConfigSource.uid ObjectMeta.uid ObjectReference.uid
        OwnerReference.uid
    v1.AppArmorProfileType: AppArmorProfile.type
    v1.ConcurrencyPolicy: CronJobSpec.concurrencyPolicy
    v1.ConditionStatus: Condition.status CustomResourceDefinitionCondition.status DaemonSetCondition.status
        DeploymentCondition.status HorizontalPodAutoscalerCondition.status JobCondition.status
        NamespaceCondition.status NodeCondition.status PersistentVolumeClaimCondition.status
        PodCondition.status PodFailurePolicyOnPodConditionsPattern.status ReplicaSetCondition.status
        ReplicationControllerCondition.status StatefulSetCondition.status
    v1.ContainerRestartRuleAction: ContainerRestartRule.action
    v1.ContainerRestartRuleOnExitCodesOperator: ContainerRestartRuleOnExitCodes.operator
    v1.ConversionStrategyType: CustomResourceConversion.strategy
    v1.CustomResourceDefinitionConditionType: CustomResourceDefinitionCondition.type
    v1.DNSPolicy: PodSpec.dnsPolicy
    v1.DaemonSetConditionType: DaemonSetCondition.type
    v1.DaemonSetUpdateStrategyType: DaemonSetUpdateStrategy.type
    v1.DeploymentConditionType: DeploymentCondition.type
    v1.DeploymentStrategyType: DeploymentStrategy.type
    v1.FieldSelectorOperator: FieldSelectorRequirement.operator
    v1.JSONSchemaURL: JSONSchemaProps.$schema
    v1.JobConditionType: JobCondition.type
    v1.LabelSelectorOperator: LabelSelectorRequirement.operator
    v1.LimitType: LimitRangeItem.type
    v1.ManagedFieldsOperationType: ManagedFieldsEntry.operation
    v1.NamespaceConditionType: NamespaceCondition.type
    v1.NamespacePhase: NamespaceStatus.phase
    v1.NodeAddressType: NodeAddress.type
    v1.NodeConditionType: NodeCondition.type
    v1.NodePhase: NodeStatus.phase
    v1.NodeSelectorOperator: NodeSelectorRequirement.operator
    v1.OSName: PodOS.name
    v1.PersistentVolumeClaimConditionType: PersistentVolumeClaimCondition.type
    v1.PersistentVolumeClaimModifyVolumeStatus: ModifyVolumeStatus.status
    v1.PersistentVolumeClaimPhase: PersistentVolumeClaimStatus.phase
    v1.PersistentVolumeClaimRetentionPolicyType: StatefulSetPersistentVolumeClaimRetentionPolicy.whenDeleted
        StatefulSetPersistentVolumeClaimRetentionPolicy.whenScaled
    v1.PersistentVolumePhase: PersistentVolumeStatus.phase
    v1.PersistentVolumeReclaimPolicy: PersistentVolumeSpec.persistentVolumeReclaimPolicy
    v1.PodConditionType: PodCondition.type PodFailurePolicyOnPodConditionsPattern.type
        PodReadinessGate.conditionType
    v1.PodFailurePolicyAction: PodFailurePolicyRule.action
    v1.PodFailurePolicyOnExitCodesOperator: PodFailurePolicyOnExitCodesRequirement.operator
    v1.PodManagementPolicyType: StatefulSetSpec.podManagementPolicy
    v1.PodPhase: PodStatus.phase
    v1.PodQOSClass: PodStatus.qosClass
    v1.PodResizeStatus: PodStatus.resize
    v1.Protocol: ContainerPort.protocol EndpointPort.protocol IngressPortStatus.protocol PortStatus.protocol
        ServicePort.protocol
    v1.PullPolicy: Container.imagePullPolicy EphemeralContainer.imagePullPolicy ImageVolumeSource.pullPolicy
    v1.ReplicaSetConditionType: ReplicaSetCondition.type
    v1.ReplicationControllerConditionType: ReplicationControllerCondition.type
    v1.ResourceHealthStatus: ResourceHealth.health
    v1.ResourceID: ResourceHealth.resourceID
    v1.ResourceName: ContainerResizePolicy.resourceName ContainerResourceMetricSource.name
        ContainerResourceMetricStatus.name ResourceMetricSource.name ResourceMetricStatus.name
        ResourceStatus.name
    v1.ResourceQuotaScope: ScopedResourceSelectorRequirement.scopeName
    v1.ResourceResizeRestartPolicy: ContainerResizePolicy.restartPolicy
    v1.ResourceScope: CustomResourceDefinitionSpec.scope
    v1.RestartPolicy: PodSpec.restartPolicy
    v1.ScopeSelectorOperator: ScopedResourceSelectorRequirement.operator
    v1.SeccompProfileType: SeccompProfile.type
    v1.SecretType: Secret.type
    v1.ServiceAffinity: ServiceSpec.sessionAffinity
    v1.ServiceExternalTrafficPolicy: ServiceSpec.externalTrafficPolicy
    v1.ServiceType: ServiceSpec.type
    v1.StatefulSetConditionType: StatefulSetCondition.type
    v1.StatefulSetUpdateStrategyType: StatefulSetUpdateStrategy.type
    v1.StorageMedium: EmptyDirVolumeSource.medium
    v1.TaintEffect: Taint.effect Toleration.effect
    v1.TerminationMessagePolicy: Container.terminationMessagePolicy
        EphemeralContainer.terminationMessagePolicy
    v1.TolerationOperator: Toleration.operator
    v1.URIScheme: HTTPGetAction.scheme
    v1.UniqueVolumeName: AttachedVolume.name
    v1.UnsatisfiableConstraintAction: TopologySpreadConstraint.whenUnsatisfiable
    v2.HPAScalingPolicyType: HPAScalingPolicy.type
    v2.HorizontalPodAutoscalerConditionType: HorizontalPodAutoscalerCondition.type
    v2.MetricSourceType: MetricSpec.type MetricStatus.type
    v2.MetricTargetType: MetricTarget.type
    """
)
"""How the decoder names the types of fields that are strings with a meaning."""

LIST_MAPS = _named(
    """
    name: Container.env ContainerStatus.allocatedResourcesStatus EphemeralContainer.env
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

UNPATCHED_LIST_MAPS = _named(
    """
    name: ResourceRequirements.claims
    resourceID: ResourceStatus.resources
    type: CustomResourceDefinitionStatus.conditions
    """
)
"""Lists with keys that strategic merge patches replace as a whole."""

SETS = _named(
    """
    replace: ContainerRestartRuleOnExitCodes.values Endpoint.addresses
        NodeAllocatableResourceClaimStatus.containers PodFailurePolicyOnExitCodesRequirement.values
        UncountedTerminatedPods.failed UncountedTerminatedPods.succeeded
    merge: NodeSpec.podCIDRs ObjectMeta.finalizers
    """
)
"""Lists without duplicates; "merge" where strategic merge patches add to them."""

MERGED_LISTS = _named(
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
    ("PodSpec.nodeSelector", "ReplicationControllerSpec.selector", "Scheduling.nodeSelector", "ServiceSpec.selector")
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

SHOWN = frozenset(
    (
        "ControllerRevision.revision",
        "Event.reportingComponent",
        "Event.reportingInstance",
        "HorizontalPodAutoscalerStatus.currentReplicas",
        "StatefulSetSpec.serviceName",
        "StatefulSetStatus.availableReplicas",
    )
)
"""Optional fields that are shown at their zero."""
