"""Container statuses; a word in the image name decides what happens.

The sandbox has no images. `broken`: the image cannot be pulled. `crashing`: the container exits with code 1 after
every start. `failing`: the same, meant for jobs. Every other container runs, or exits with 0 in a pod that is never
restarted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from kymatui.sandbox.controllers.framework.status_conditions import Condition, pod_condition
from kymatui.sandbox.controllers.framework.store_reader import Obj


class ContainerFate(StrEnum):
    """The simulated behaviour of a container."""

    RUNS = "runs"
    ENDS = "ends"
    CRASHES = "crashes"
    NO_IMAGE = "no image"


def fate_of(container: Mapping[str, Any], pod_spec: Mapping[str, Any], *, init: bool = False) -> ContainerFate:
    image = container.get("image", "")
    if "broken" in image:
        return ContainerFate.NO_IMAGE
    if "crashing" in image or "failing" in image:
        return ContainerFate.CRASHES
    if init:
        return ContainerFate.RUNS if container.get("restartPolicy") == "Always" else ContainerFate.ENDS
    return ContainerFate.RUNS if pod_spec.get("restartPolicy", "Always") == "Always" else ContainerFate.ENDS


def image_id(image: str) -> str:
    """Return a digest as a container runtime would report it, derived from the name."""
    repository = image.partition("@")[0]
    head, colon, tail = repository.rpartition(":")
    repository = head if colon and "/" not in tail else repository
    return f"{repository}@sha256:{hashlib.sha256(image.encode()).hexdigest()}"


def container_id(pod_uid: str, name: str, restarts: int) -> str:
    return "containerd://" + hashlib.sha256(f"{pod_uid}/{name}/{restarts}".encode()).hexdigest()


def waiting(container: Mapping[str, Any], reason: str, message: str = "", restarts: int = 0) -> Obj:
    state: Obj = {"reason": reason, **({"message": message} if message else {})}
    return {
        "name": container["name"],
        "image": container.get("image", ""),
        "imageID": "",
        "ready": False,
        "started": False,
        "restartCount": restarts,
        "state": {"waiting": state},
        "lastState": {},
    }


def running(container: Mapping[str, Any], pod_uid: str, started_at: str) -> Obj:
    image = container.get("image", "")
    return {
        "name": container["name"],
        "image": image,
        "imageID": image_id(image),
        "containerID": container_id(pod_uid, container["name"], 0),
        "ready": True,
        "started": True,
        "restartCount": 0,
        "state": {"running": {"startedAt": started_at}},
        "lastState": {},
    }


def terminated(
    container: Mapping[str, Any], pod_uid: str, started_at: str, finished_at: str, *, code: int, restarts: int = 0
) -> Obj:
    image = container.get("image", "")
    identity = container_id(pod_uid, container["name"], restarts)
    state = {
        "exitCode": code,
        "reason": "Completed" if code == 0 else "Error",
        "startedAt": started_at,
        "finishedAt": finished_at,
        "containerID": identity,
    }
    return {
        "name": container["name"],
        "image": image,
        "imageID": image_id(image),
        "containerID": identity,
        "ready": code == 0 and container.get("init", False),
        "started": False,
        "restartCount": restarts,
        "state": {"terminated": state},
        "lastState": {},
    }


def crash_loop(container: Mapping[str, Any], pod: Obj, started_at: str, now: str, restarts: int, pause: float) -> Obj:
    """Return the status of a container in back-off, with its last termination."""
    metadata = pod["metadata"]
    container_path = f"{metadata['name']}_{metadata.get('namespace', '')}({metadata['uid']})"
    message = f"back-off {_duration(pause)} restarting failed container={container['name']} pod={container_path}"
    state = waiting(container, "CrashLoopBackOff", message, restarts)
    last = terminated(container, metadata["uid"], started_at, now, code=1, restarts=restarts - 1)
    return {**state, "imageID": last["imageID"], "containerID": last["containerID"], "lastState": last["state"]}


def pull_failure(image: str, attempt: int) -> tuple[str, str]:
    """Return reason and message of an image pull failure; odd attempts have just failed."""
    error = f'failed to pull and unpack image "{image}": failed to resolve reference "{image}": {image}: not found'
    if attempt % 2:
        return "ErrImagePull", f"rpc error: code = NotFound desc = {error}"
    return "ImagePullBackOff", f'Back-off pulling image "{image}": ErrImagePull: {error}'


def _duration(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"


def pod_conditions(
    *, scheduled: bool = True, initialized: bool, ready: bool, unready: list[str], uninitialized: list[str]
) -> list[Condition]:
    """Return the five pod conditions; the message of a false one names the containers."""
    not_ready = _containers_condition(unready, "ContainersNotReady", "containers with unready status")
    return [
        pod_condition("PodReadyToStartContainers", scheduled),
        pod_condition("Initialized", True)
        if initialized
        else pod_condition(
            "Initialized",
            False,
            "ContainersNotInitialized",
            f"containers with incomplete status: [{' '.join(uninitialized)}]",
        ),
        pod_condition("Ready", True) if ready else pod_condition("Ready", False, *not_ready),
        pod_condition("ContainersReady", True) if ready else pod_condition("ContainersReady", False, *not_ready),
        pod_condition("PodScheduled", True),
    ]


def _containers_condition(names: list[str], reason: str, words: str) -> tuple[str, str]:
    return reason, f"{words}: [{' '.join(names)}]"
