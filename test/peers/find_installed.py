"""Says where the sourced environment has rosbagd, looking the way ros2 run and ros2 launch do.

    find_installed.py

Prints one JSON object: prefix, share, the executables of the package, and the
packages that it says it needs.
"""

import json
import os
from pathlib import Path

from ament_index_python.packages import get_package_prefix, get_package_share_directory
from ament_index_python.resources import get_resource

PACKAGE = "rosbagd"


def executables(prefix: str) -> list[str]:
    """What may be executed below lib/<package>."""
    found = []
    for folder, _, files in os.walk(os.path.join(prefix, "lib", PACKAGE)):
        found += [os.path.join(folder, name) for name in files]
    return sorted(path for path in found if os.path.isfile(path) and os.access(path, os.X_OK))


prefix = get_package_prefix(PACKAGE)
needs, _ = get_resource("package_run_dependencies", PACKAGE)
print(json.dumps({
    "prefix": prefix,
    "share": get_package_share_directory(PACKAGE),
    "executables": executables(prefix),
    "needs": needs.split(";"),
    "package": Path(get_package_share_directory(PACKAGE), "package.xml").is_file(),
}))
