"""The most memory that this process has held."""

import resource
import sys


def peak_memory():
    """In MB. Linux hands the peak of `getrusage` on to a process's children:
    of a child of a large test run it would be the parent's."""
    if sys.platform == "linux":
        with open("/proc/self/status", encoding="ascii") as file:
            for line in file:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) / 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)
