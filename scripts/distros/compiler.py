"""gcc over C code and cgo over Go code, with headers made of declarations."""

import re
import shutil
import subprocess
from pathlib import Path

from rosprefix.environment import COMPAT

from .translate import Declarations

FLAGS = ["-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]

# Headers that came later: code that asks for them with __has_include must not find them.
LATER = {"humble": re.compile(r"type_hash\.h$|/type_description|service_introspection\.h$|/node_type_cache\.h$|^service_msgs/")}

INCLUDE = re.compile(r"""(?:#\s*include|__has_include\s*\()\s*[<"]((?:rcl|rmw|rcutils|rosidl)\w*/[^>"]*)[>"]""")

RCLGO = "github.com/tiiuae/rclgo"

STANDARD = "".join(f"#include <{name}.h>\n" for name in ("stdarg", "stdbool", "stddef", "stdint", "stdio", "stdlib"))


class Compiler:
    def __init__(self, root: Path, work: Path):
        self.root, self.work = root, work
        self.stated = Path(__file__).with_name("stated.h")
        _output(["go", "mod", "download", RCLGO], root)
        self.bindings = Path(_output(["go", "list", "-m", "-f", "{{.Dir}}", RCLGO], root), "pkg", "rclgo")

    def headers(self, distro: str, declared: Declarations) -> list[Path]:
        """Directories in which every ROS header that node/ and rclgo include is there, and declares all."""
        include = self.work / distro
        shutil.rmtree(include, ignore_errors=True)
        include.mkdir(parents=True)
        described = "#define HAS_DESCRIPTIONS\n" if "rosidl_parse_type_hash_string" in declared.functions else ""
        (include / "declarations.h").write_text(
            f"#pragma once\n{STANDARD}{described}{declared.types_text()}{declared.functions_text()}{self.stated.read_text()}")
        for name in self._included():
            if distro in LATER and LATER[distro].search(name):
                continue
            header = include / name
            header.parent.mkdir(parents=True, exist_ok=True)
            header.write_text("#include <declarations.h>\n")
        return [include] if "rcl_timer_init" in declared.functions else [COMPAT, include]

    def everything(self, include: list[Path]) -> str:
        """What gcc and cgo say against node/ and against rclgo; nothing if all is right."""
        node = self.root / "node"
        return ("".join(self.check(file, include) for file in sorted(node.glob("*.c")))
                + self._cgo(node, include) + self._cgo(self.bindings, include))

    def _cgo(self, package: Path, include: list[Path]) -> str:
        """What cgo says when it looks up all that the package's Go files take from C."""
        files = [f.name for f in sorted(package.glob("*.go"))
                 if not f.name.endswith("_test.go") and re.search(r'^import "C"$', f.read_text(), re.MULTILINE)]
        objects = self.work / "cgo"
        complaints = _run(["go", "tool", "cgo", "-objdir", str(objects), "-importpath", package.name, "--", "-std=c11",
                           "-D_GNU_SOURCE", "-I.", *(f"-isystem{d}" for d in include), *files], package)
        shutil.rmtree(objects, ignore_errors=True)
        return complaints

    def check(self, file: Path, include: list[Path], *flags: str) -> str:
        return _run(["gcc", *FLAGS, *flags, *(f"-isystem{d}" for d in include), str(file)])

    def output(self, file: Path, include: list[Path]) -> str:
        """What the program in file prints."""
        program = file.with_suffix("")
        failed = _run(["gcc", "-std=c11", "-D_GNU_SOURCE", *(f"-isystem{d}" for d in include), str(file), "-o", str(program)])
        return failed or _output([str(program)], self.work)

    def _included(self) -> set[str]:
        """The ROS headers that the code of node/ and of rclgo names."""
        files = [f for package in (self.root / "node", self.bindings) for f in package.iterdir()
                 if f.suffix in (".c", ".h", ".go")]
        return {name for f in files for name in INCLUDE.findall(f.read_text())}


def _run(argv: list[str], folder: Path | None = None) -> str:
    done = subprocess.run(argv, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return (done.stdout or f"{argv[0]} failed\n") if done.returncode else ""


def _output(argv: list[str], folder: Path) -> str:
    return subprocess.run(argv, cwd=folder, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
