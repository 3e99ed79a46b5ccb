"""Packs the wheel of the Python package patchmg: what pip calls (PEP 517), and a program.

Usage: python3 wheel.py FOLDER, after `cargo build --release --workspace` in the tree, which compiles the library once for all packages.
"""

import base64
import hashlib
import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
TREE = HERE.parent.parent
# The stable interface of Python 3.11, the first that has buffers: Cargo.toml asks for it.
TAG = "cp311-abi3-linux_x86_64"


def library():
    """The compiled part, where cargo puts it."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", TREE / "target"))
    return target / "release" / "libpatchmg_python.so"


def pack(folder):
    """Writes the wheel to a folder, and returns its name."""
    package = tomllib.loads((TREE / "Cargo.toml").read_text())["workspace"]["package"]
    version = package["version"]
    info = f"patchmg-{version}.dist-info"
    metadata = (
        f"Metadata-Version: 2.4\nName: patchmg\nVersion: {version}\n"
        "Summary: Poisson's equation and the Stokes equations on boxes, by matrix-free multigrid\n"
        f"License-Expression: {package['license']}\nRequires-Python: >=3.11\nRequires-Dist: numpy\n"
        "Provides-Extra: scipy\nRequires-Dist: scipy; extra == 'scipy'\n"
    )
    wheel = f"Wheel-Version: 1.0\nGenerator: patchmg\nRoot-Is-Purelib: false\nTag: {TAG}\n"
    files = {f"patchmg/{path.name}": path.read_bytes() for path in sorted((HERE / "patchmg").glob("*.py*")) if path.is_file()}
    files["patchmg/py.typed"] = b""
    files["patchmg/_native.abi3.so"] = library().read_bytes()
    files[f"{info}/METADATA"] = metadata.encode()
    files[f"{info}/WHEEL"] = wheel.encode()
    record = []
    for name, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record.append(f"{name},sha256={digest},{len(content)}\n")
    record.append(f"{info}/RECORD,,\n")
    files[f"{info}/RECORD"] = "".join(record).encode()
    name = f"patchmg-{version}-{TAG}.whl"
    with zipfile.ZipFile(Path(folder) / name, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in files.items():
            archive.writestr(path, content)
    return name


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Compiles, and packs. What pip calls."""
    command = [TREE / ".ci" / "with-device-compiler", "cargo", "build", "--release", "--package", "patchmg-python"]
    subprocess.run(command, cwd=TREE, check=True)
    return pack(wheel_directory)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    os.makedirs(sys.argv[1], exist_ok=True)
    print(Path(sys.argv[1]) / pack(sys.argv[1]))
