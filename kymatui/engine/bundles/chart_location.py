"""The location of a chart, which can be asked for other versions, or why there is none."""

from __future__ import annotations

from msgspec import Struct

from kymatui.domain.inventories import Origin


class ChartLocation(Struct, frozen=True):
    """A chart as `Blobs.chart` takes it: `oci://…` without tag, or its name in a repository."""

    reference: str
    repository: str = ""

    def __str__(self) -> str:
        return f"{self.repository}/{self.reference}" if self.repository else self.reference


def chart_location(origin: Origin) -> ChartLocation | str:
    """Return the location of a chart, or why other versions cannot be found.

    The location has no credentials; those of this machine are used.
    """
    address = origin.address
    if not address or address.startswith("revision "):  # older rollbacks stored no address
        return "its source is not recorded (helm and older versions of kymatui do not record it)"
    if address.startswith("oci://"):
        if "@" in address:
            return f"it is pinned to the digest {address}"
        head, _, name = address.rpartition("/")
        return ChartLocation(f"{head}/{name.partition(':')[0]}")
    if origin.repository and address.startswith(f"{origin.repository}/"):
        return ChartLocation(address.removeprefix(f"{origin.repository}/"), origin.repository)
    if "://" not in address:
        return f"it came from {address}, a path on the machine where it was installed"
    if address.endswith((".tgz", ".tar.gz")):
        return f"it came from {address}, a single archive without other versions"
    return f"it came from {address}, and the repository is not recorded"
