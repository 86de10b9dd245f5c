"""Holds translated declarations against the real headers of the same distro."""

import re
from pathlib import Path

from .compiler import STANDARD, Compiler
from .translate import Declarations

# What declares everything that bindgen was given and that stated.h states.
REAL = """\
#include <rcl/event.h>
#include <rcl/expand_topic_name.h>
#include <rcl/graph.h>
#include <rcl/logging.h>
#include <rcl/logging_rosout.h>
#include <rcl/rcl.h>
#include <rcl_action/rcl_action.h>
#include <rcl_yaml_param_parser/parser.h>
#include <rcutils/error_handling.h>
#include <rmw/types.h>
#include <rosidl_runtime_c/string_functions.h>
#include <rosidl_runtime_c/type_description/type_description__functions.h>
#include <rosidl_runtime_c/type_description/type_source__functions.h>
#include <rosidl_typesupport_introspection_c/field_types.h>
#include <rosidl_typesupport_introspection_c/identifier.h>
#include <rosidl_typesupport_introspection_c/message_introspection.h>
"""
OURS = re.compile(r"^(rcl|rmw|rcutils|rosidl)_(?!action_)")


def with_headers(compiler: Compiler, distro: str, declared: Declarations, include: list[Path]) -> str:
    """Complaints about functions that are declared differently, structs of another layout, and macros of another value."""
    folder = compiler.work
    stated = compiler.stated.read_text()
    functions = folder / f"{distro}-functions.c"
    functions.write_text(REAL + "\n".join(text for name, text in declared.functions.items() if OURS.match(name))
                         + "\n" + re.sub(r"^#.*\n", "", stated, flags=re.MULTILINE))
    macros = folder / f"{distro}-macros.c"
    values = re.findall(r"#define (?!RCL_RET_ACTION_)(\w+) ([0-9]+|UINT64_MAX)$", stated, re.MULTILINE)
    macros.write_text(REAL + "".join(f'_Static_assert({n} == {v}, "{n}");\n' for n, v in values))
    complaints = compiler.check(functions, include, "-Wno-deprecated-declarations", "-Wno-array-parameter") + compiler.check(macros, include)
    layouts = []
    for kind, text, where in (("translated", STANDARD + declared.types_text(), []), ("real", REAL, include)):
        program = folder / f"{distro}-{kind}.c"
        program.write_text(f"{text}#include <stdio.h>\nint main(void)\n{{\n{_layout(declared)}  return 0;\n}}\n")
        layouts.append(compiler.output(program, where).splitlines())
    if len(layouts[0]) != len(layouts[1]) or not layouts[0]:
        return complaints + "\n".join(min(layouts, key=len))
    return complaints + "\n".join(f"{real} in the headers, {made} translated" for made, real in zip(*layouts) if made != real)


def _layout(declared: Declarations) -> str:
    """Statements that print the size of each struct and the offset of each member."""
    lines = []
    for name, members in declared.structs.items():
        if OURS.match(name.split()[-1]):
            lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
            lines += [f'printf("{name}.{m} %zu\\n", offsetof({name}, {m}));' for m in members]
    return "".join(f"  {line}\n" for line in lines)
