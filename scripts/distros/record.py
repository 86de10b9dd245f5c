"""Fetches the record of the C interfaces of ROS: a crate that holds bindgen's output for each distro.

cargo downloads the crate into its cache, whole and unchanged; nothing of it is
built or run. The hash is pinned here.
"""

import hashlib
import os
import shutil
import subprocess
import tarfile
from pathlib import Path

CRATE, VERSION = "rclrs", "0.8.0"
SHA256 = "445cc875d7c153a96d865eadc0550d6d2aca6ba58ff9cc677b49b4dc0e08ec1f"


class Unavailable(Exception):
    """Why the record can't be had, in a few words."""


def fetch(work: Path) -> Path:
    """The crate's file, kept in work under its hash."""
    kept = work / f"{CRATE}-{SHA256[:12]}.crate"
    if kept.exists() and _hash(kept) == SHA256:
        return kept
    home = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")
    cargo = shutil.which("cargo") or shutil.which("cargo", path=home / "bin")
    if not cargo:
        raise Unavailable("cargo, which downloads the record of its headers, is not installed")
    # The one command of cargo that gets a crate without what it depends on. Away from any workspace.
    work.mkdir(parents=True, exist_ok=True)
    asked = subprocess.run([cargo, "info", f"{CRATE}@{VERSION}", "--color", "never"], cwd=work, stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    (work / "cargo.log").write_text(asked.stdout)
    for found in home.glob(f"registry/cache/*/{CRATE}-{VERSION}.crate"):
        if _hash(found) == SHA256:
            half = kept.with_suffix(".part")
            shutil.copyfile(found, half)
            half.replace(kept)
            return kept
    if asked.returncode != 0:
        raise Unavailable(f"cargo could not download {CRATE} {VERSION}, see {os.path.relpath(work)}/cargo.log")
    raise Unavailable(f"what cargo downloaded is not the {CRATE} {VERSION} that is pinned")


def declarations(crate: Path, distro: str) -> str:
    """bindgen's output for distro."""
    with tarfile.open(crate) as archive:
        file = archive.extractfile(f"{CRATE}-{VERSION}/src/rcl_bindings_generated_{distro}.rs")
        assert file is not None
        return file.read().decode()


def _hash(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
