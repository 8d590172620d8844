"""Encoding of empty fields of built-in kinds (see `field_facts` for the format of the tables)."""

from __future__ import annotations

from kymatui.schemas.types.field_types import fields

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
    APIService: spec status
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

SHOWN = frozenset(
    (
        "ControllerRevision.revision",
        "Event.reportingComponent",
        "Event.reportingInstance",
        "PodDisruptionBudgetStatus.currentHealthy",
        "PodDisruptionBudgetStatus.desiredHealthy",
        "PodDisruptionBudgetStatus.disruptionsAllowed",
        "PodDisruptionBudgetStatus.expectedPods",
        "StatefulSetSpec.serviceName",
        "StatefulSetStatus.availableReplicas",
    )
)
"""Optional fields that are shown at their zero."""
