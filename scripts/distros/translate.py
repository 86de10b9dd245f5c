"""Turns Rust declarations of a C interface, as bindgen writes them, back into C.

bindgen reads real C headers and writes what they declare in Rust: functions,
structs, enumerations, in the order of the headers. That is all a compiler
needs to check calls and members. Not in there, and so not in the result, are
macros, comments and the bodies of inline functions.
"""

import re

SCALARS = {
    "c_void": "void", "c_char": "char", "c_schar": "signed char", "c_uchar": "unsigned char", "c_short": "short",
    "c_ushort": "unsigned short", "c_int": "int", "c_uint": "unsigned", "c_long": "long", "c_ulong": "unsigned long",
    "c_longlong": "long long", "c_ulonglong": "unsigned long long", "f32": "float", "f64": "double",
    "u128": "long double", "bool": "_Bool",
    "usize": "size_t", "isize": "ptrdiff_t",
} | {f"{sign}{bits}": f"{'u' if sign == 'u' else ''}int{bits}_t" for sign in "iu" for bits in (8, 16, 32, 64)}

# Names that bindgen puts an underscore behind because Rust has them for itself.
RUST_WORDS = {"impl_", "type_", "str_", "ref_", "in_", "match_", "move_", "use_", "where_", "box_", "final_"}

TOKEN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|::|->|\.\.\.|\"C\"|[0-9]+(?:usize)?|[^\sA-Za-z0-9_]")

# What comes from the C library: its own headers declare it.
FOREIGN = re.compile(r"^(_|va_list$|u?int_least|FILE$|tm$|time_t$)")


class Declarations:
    """The C declarations of one distro, in three parts that are written one after the other."""

    def __init__(self, rust: str):
        text = re.sub(r"//[^\n]*|/\*.*?\*/", "", rust, flags=re.DOTALL)
        self._tokens = TOKEN.findall(text)
        self._at = 0
        self.tags: list[str] = []  # typedefs of structs that are used before they are told
        self.types: list[str] = []
        self.functions: dict[str, str] = {}
        self.structs: dict[str, list[str]] = {}  # the members of each, by what C calls it
        while self._at < len(self._tokens):
            self._item()

    def types_text(self) -> str:
        return "\n".join([*self.tags, *self.types]) + "\n"

    def functions_text(self) -> str:
        return "\n".join(self.functions.values()) + "\n"

    # -- items

    def _item(self) -> None:
        if self._take("#"):
            self._skip("[", "]")
        elif self._take("unsafe"):
            self._expect("extern", '"C"', "{")
            self._extern()
            self._expect("}")
        elif self._take("impl"):
            self._next()
            self._skip("{", "}")
        elif self._take("pub"):
            kind = self._next()
            {"struct": self._struct, "union": self._union, "enum": self._enum, "type": self._alias, "use": self._use,
             "const": self._const}[kind]()
        else:
            raise ValueError(f"unexpected {' '.join(self._tokens[self._at:self._at + 8])}")

    def _extern(self) -> None:
        while self._take("#"):
            self._skip("[", "]")
        self._expect("pub")
        kind, name = self._next(), self._name()
        if kind == "static":
            constant = not self._take("mut")
            self._expect(":")
            declared = self._type(f"const {name}" if constant else name)
            self._expect(";")
        else:
            declared = self._signature(name)
            self._expect(";")
        if not FOREIGN.match(name) and "__va_list_tag" not in declared:
            self.functions[name] = f"extern {declared};"

    def _use(self) -> None:  # pub use self::rcl_clock_type_e as rcl_clock_type_t;
        self._expect("self", "::")
        old = self._next()
        self._expect("as")
        self.types.append(f"typedef enum {old} {self._next()};")
        self._expect(";")

    def _const(self) -> None:
        name = self._name()
        self._expect(":")
        self._type("")
        self._expect("=")
        value = []
        while not self._take(";"):
            value.append(self._next())
        if not FOREIGN.match(name) and len(value) == 1:
            self.types.append(f"enum {{{name} = {value[0]}}};")

    def _alias(self) -> None:
        name = self._name()
        self._expect("=")
        declared = self._type(name)
        self._expect(";")
        if not FOREIGN.match(name):
            self.types.append(f"typedef {declared};")

    def _struct(self, kind: str = "struct") -> None:
        name = self._name()
        members: dict[str, str] = {}
        self._expect("{")
        while not self._take("}"):
            self._take("pub")
            member = self._name()
            self._expect(":")
            members[member] = self._type(member)
            self._take(",")
        if FOREIGN.match(name):
            return
        self.tags.append(f"typedef {kind} {name} {name};")
        if "_unused" not in members:  # which stands for a struct that is not told
            told = "".join(f"  {member};\n" for member in members.values())
            self.types.append(f"{kind} {name} {{\n{told}}};")
            # ROS's structs have a tag with this ending, or no tag and the name alone.
            self.structs[f"{kind} {name}" if name.endswith("_s") else name] = list(members)

    def _union(self) -> None:
        self._struct("union")

    def _enum(self) -> None:
        name = self._name()
        values = []
        self._expect("{")
        while not self._take("}"):
            constant = self._next()
            self._expect("=")
            sign = "-" if self._take("-") else ""
            values.append(f"{constant} = {sign}{self._next()}")
            self._take(",")
        tag = "" if name.startswith("_bindgen") else name
        self.types.append(f"enum {tag} {{{', '.join(values)}}};")
        if tag:
            self.types.append(f"typedef enum {tag} {tag};")

    # -- types, in the order of C: a type and what it declares are one text

    def _type(self, inner: str) -> str:
        if self._take("*"):
            constant = self._next() == "const"
            return self._type_of_pointer(inner, constant)
        if self._take("["):
            at = self._at
            self._type("")
            self._expect(";")
            size = self._next().removesuffix("usize")
            self._expect("]")
            after, self._at = self._at, at
            declared = self._type(f"{inner}[{size}]")
            self._at = after
            return declared
        if self._take("::"):  # ::std::os::raw::c_int, ::std::option::Option<...>
            word = self._next()
            while self._take("::"):
                word = self._next()
            if word != "Option":
                return f"{SCALARS[word]} {inner}"
            self._expect("<")
            declared = self._type(inner)
            self._take(",")
            self._expect(">")
            return declared
        if self._take("unsafe"):
            self._expect("extern", '"C"', "fn")
            return self._signature(f"(*{inner})")
        word = self._next()
        return f"{SCALARS.get(word, word)} {inner}"

    def _type_of_pointer(self, inner: str, constant: bool) -> str:
        if self._tokens[self._at] == "[":
            return self._type(f"(*{inner})")
        # What is constant is what is pointed at: T *const *x for a pointer to constant pointers.
        if self._tokens[self._at] == "*":
            return self._type(f"const *{inner}" if constant else f"*{inner}")
        return ("const " if constant else "") + self._type(f"*{inner}")

    def _signature(self, declarator: str) -> str:
        """Reads (name: type, ...) -> type and returns the declaration of declarator."""
        self._expect("(")
        parameters = []
        while not self._take(")"):
            if self._take("..."):
                parameters.append("...")
            else:
                name = self._name()
                self._expect(":")
                parameters.append(self._type(name))
            self._take(",")
        declarator = f"{declarator}({', '.join(parameters) or 'void'})"
        return self._type(declarator) if self._take("->") else f"void {declarator}"

    # -- tokens

    def _next(self) -> str:
        self._at += 1
        return self._tokens[self._at - 1]

    def _name(self) -> str:
        name = self._next()
        return name[:-1] if name in RUST_WORDS else name

    def _take(self, token: str) -> bool:
        if self._at < len(self._tokens) and self._tokens[self._at] == token:
            self._at += 1
            return True
        return False

    def _expect(self, *tokens: str) -> None:
        for token in tokens:
            if not self._take(token):
                raise ValueError(f"expected {token} before {' '.join(self._tokens[self._at:self._at + 8])}")

    def _skip(self, opening: str, closing: str) -> None:
        self._expect(opening)
        depth = 1
        while depth:
            token = self._next()
            depth += (token == opening) - (token == closing)


