# SPDX-License-Identifier: Apache-2.0
"""What the classes of one jar name of the classes of another, and the other lacks: a linker that runs nothing.

The format of class files is chapter 4 of the Java Virtual Machine Specification.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from zipfile import ZipFile

_PUBLIC = 0x0001
#: The number of bytes of each constant of a class file, by its tag; text (1) has a length of its own.
_SIZES = {3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 8: 2, 9: 4, 10: 4, 11: 4, 12: 4, 15: 3, 16: 2, 17: 4, 18: 4, 19: 2, 20: 2}
_CLASS, _FIELD, _METHOD, _METHOD_OF_INTERFACE = 7, 9, 10, 11
_WIDE = (5, 6)


class Member(NamedTuple):
    """A field or method, or with an empty name, a class.

    Attributes:
        owner: The class as the class file names it: `org/apache/iceberg/Table`.
        name: The name of the member.
        descriptor: Its types.
    """

    owner: str
    name: str = ""
    descriptor: str = ""

    def __str__(self) -> str:
        """Returns the class and the member in the notation of Java."""
        return ".".join(part for part in (self.owner.replace("/", "."), self.name) if part)


class ClassFile(NamedTuple):
    """What a class is and names.

    Attributes:
        name: Its name.
        is_public: Whether other packages may use it.
        parents: The superclass and the interfaces.
        members: The names and descriptors of its fields and methods.
        named: The classes and members that its code names.
    """

    name: str
    is_public: bool
    parents: tuple[str, ...]
    members: frozenset[tuple[str, str]]
    named: frozenset[Member]


def parse(data: bytes) -> ClassFile:
    """Reads a class file."""
    (count,) = struct.unpack_from(">H", data, 8)
    constants: list[tuple[int, ...] | str] = [""] * count
    at, index = 10, 1
    while index < count:
        tag = data[at]
        if tag == 1:
            (size,) = struct.unpack_from(">H", data, at + 1)
            constants[index] = data[at + 3 : at + 3 + size].decode("utf-8", "replace")
            at += 3 + size
        else:
            size = _SIZES[tag]
            constants[index] = (tag, *struct.unpack_from(f">{size // 2}H", data, at + 1)) if size % 2 == 0 else (tag,)
            at += 1 + size
        index += 2 if tag in _WIDE else 1

    def text(of: int) -> str:
        found = constants[of]
        return found if isinstance(found, str) else text(found[1])

    access, this, parent, interfaces = struct.unpack_from(">4H", data, at)
    parents = (parent, *struct.unpack_from(f">{interfaces}H", data, at + 8))
    members = frozenset((text(name), text(types)) for name, types in _members(data, at + 8 + 2 * interfaces))
    named = set()
    for constant in constants:
        if isinstance(constant, tuple) and constant[0] == _CLASS:
            named.add(Member(text(constant[1])))
        elif isinstance(constant, tuple) and constant[0] in (_FIELD, _METHOD, _METHOD_OF_INTERFACE):
            _, name, types = constants[constant[2]]  # type: ignore[misc]
            named.add(Member(text(constant[1]), text(int(name)), text(int(types))))
    return ClassFile(
        text(this), bool(access & _PUBLIC), tuple(text(of) for of in parents if of), members, frozenset(named)
    )


def _members(data: bytes, at: int) -> Iterator[tuple[int, int]]:
    """Yields the constants of the name and the descriptor of each field, then of each method."""
    for _ in ("fields", "methods"):
        (count,) = struct.unpack_from(">H", data, at)
        at += 2
        for _ in range(count):
            _, name, types, attributes = struct.unpack_from(">4H", data, at)
            yield name, types
            at += 8
            for _ in range(attributes):
                (size,) = struct.unpack_from(">I", data, at + 2)
                at += 6 + size


class Library:
    """The classes of jars, by their names."""

    def __init__(self, *jars: Path) -> None:
        """Reads the lists of the jars; each class is read when it is needed."""
        self._jars = [ZipFile(jar) for jar in jars]
        self._known: dict[str, ClassFile | None] = {}

    def find(self, name: str) -> ClassFile | None:
        """Returns a class; None if the jars lack it."""
        if name not in self._known:
            holder = next((jar for jar in self._jars if f"{name}.class" in jar.NameToInfo), None)
            self._known[name] = None if holder is None else parse(holder.read(f"{name}.class"))
        return self._known[name]

    def has(self, member: Member) -> bool:
        """Whether a class or one of its parents has a member; a parent outside of the jars is taken to have it."""
        found = self.find(member.owner)
        if found is None or member.name == "":
            return found is not None
        if (member.name, member.descriptor) in found.members:
            return True
        parents = [Member(parent, member.name, member.descriptor) for parent in found.parents]
        return any(self.has(p) if self.find(p.owner) else p.owner != "java/lang/Object" for p in parents)


def missing(jar: Path, library: Path, package: str) -> dict[str, list[str]]:
    """Returns what the classes of a jar name of a package of a library that it lacks, with the classes that name it.

    A class that is not public counts as lacking, and so do members that classes of the jar would inherit.
    """
    both = Library(jar, library)
    lacking: dict[str, set[str]] = {}
    for entry in ZipFile(jar).namelist():
        user = both.find(entry.removesuffix(".class")) if entry.endswith(".class") else None
        for member in user.named if user else ():
            owner = both.find(member.owner)
            ours = owner is not None and not member.owner.startswith(package)
            inherits = owner is not None and any(parent.startswith(package) for parent in owner.parents)
            is_named = member.owner.startswith(package) or (inherits and member.name != "")
            if is_named and not (both.has(member) and (ours or (owner is not None and owner.is_public))):
                lacking.setdefault(str(member), set()).add(entry.removesuffix(".class").replace("/", "."))
    return {member: sorted(users) for member, users in sorted(lacking.items())}
