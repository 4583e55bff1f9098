"""Memory: what this process holds, now and at its peak, and what the machine has left."""

import os
import resource
import sys
from pathlib import Path

_STATUS = Path("/proc/self/status")


def resident_mib() -> float:
    """MiB now; where the system does not tell, the peak so far."""
    return _from_status("VmRSS:")


def peak_mib() -> float:
    """The most MiB there has been. Not ru_maxrss on Linux: it counts the parent's memory too."""
    return _from_status("VmHWM:")


def available_bytes() -> int:
    """What can be had without swapping; where the system does not tell, half of all."""
    info = Path("/proc/meminfo")
    for line in info.read_text().splitlines() if info.exists() else []:
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2


def _from_status(key: str) -> float:
    if _STATUS.exists():
        for line in _STATUS.read_text().splitlines():
            if line.startswith(key):
                return int(line.split()[1]) / 1024
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
