#!/usr/bin/python3
"""Reads what programs and libraries need of the machine that runs them. See --help.

tools/dist runs this as a gate. tools/wheel imports it, to name the wheel after the glibc that it needs, and to
bring the libraries that go beside ours.
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys

# The promise of docs/link.md; docs/decisions/portable-binaries.md has the reasons.
GLIBC = (2, 34)
LIBRARIES = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "ld-linux-x86-64.so.2",
             "ld-linux-aarch64.so.1"}
# The libraries that every distribution with that glibc has installed, and that a wheel may use from outside (PEP 600).
OUTSIDE = LIBRARIES | {"libgcc_s.so.1", "libstdc++.so.6", "libz.so.1"}
SHOWN = 5   # symbols of one version

HELP = """
Fails if a program or library below FOLDER needs more than every machine with glibc 2.34 has (RHEL 9,
Ubuntu 22.04, Debian 12): a symbol of a newer glibc, or a library that is not glibc's. Prints the file
and the symbol or library.

With --bring it copies to FOLDER instead what the libraries there need and not every distribution has: Debian's
libgloo.so.0, for example, and the libraries that this needs.
"""


def readelf(*arguments):
    return subprocess.run(["readelf", *map(str, arguments)], check=True, stdout=subprocess.PIPE, text=True).stdout


def needed(binary):
    """Returns the libraries that a binary asks the loader for."""
    return re.findall(r"\(NEEDED\).*\[(.*)\]", readelf("--dynamic", binary))


def locate(name, binary):
    """Returns the file that the loader finds for a library that a binary needs."""
    output = subprocess.run(["ldd", str(binary)], check=True, stdout=subprocess.PIPE, text=True).stdout
    match = re.search(rf"^\s*{re.escape(name)} => (/\S+)", output, re.MULTILINE)
    if not match:
        sys.exit(f"binaries: {binary} needs {name}, which is not installed here")
    return pathlib.Path(match[1]).resolve()


def libraries_of(binary):
    """Returns all libraries that a binary needs, directly or not, and that are not OUTSIDE, as {name: file}."""
    found, left = {}, [binary]
    while left:
        asking = left.pop()
        for name in needed(asking):
            if name not in OUTSIDE and name not in found:
                found[name] = locate(name, asking)
                left.append(found[name])
    return found


def symbols(binary):
    """Returns the versioned symbols that a binary takes from other libraries, as (symbol, "GLIBC", (2, 34))."""
    lines = re.findall(r"\bUND\s+([^\s@]+)@([A-Z]+)_([0-9.]+)\b", readelf("--dyn-syms", "--wide", binary))
    return [(name, library, tuple(map(int, version.split(".")))) for name, library, version in lines]


def newest(binary, library, otherwise):
    """Returns the newest version of "GLIBC" or "GLIBCXX" among a binary's symbols; `otherwise` if it has none."""
    return max((version for _, of, version in symbols(binary) if of == library), default=otherwise)


def abbreviate(names):
    names = sorted(names)
    return ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")


def find_problems(binary, name):
    """Returns a line for each kind of thing that a binary needs and other machines lack."""
    beyond = {}
    for library in needed(binary):
        if library not in LIBRARIES:
            beyond.setdefault("not every machine has: is it linked by --config=static?", []).append(library)
    for symbol, library, version in symbols(binary):
        if library != "GLIBC":
            beyond.setdefault(f"belong inside ({library})", []).append(symbol)
        elif version > GLIBC:
            beyond.setdefault(f"came with glibc {'.'.join(map(str, version))}", []).append(symbol)
    return [f"{name} needs {abbreviate(what)}, which {why}" for why, what in sorted(beyond.items())]


def binaries(folder):
    """Yields all ELF files below a folder, each once, in the order of their names."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            with path.open("rb") as file:
                if file.read(4) == b"\x7fELF":
                    yield path


def bring_libraries(folder):
    for binary in list(binaries(folder)):
        for name, file in libraries_of(binary).items():
            if not (folder / name).exists():
                shutil.copyfile(file, folder / name)
                print(f"binaries: {name} of this machine is beside {binary.name}")


def main():
    parser = argparse.ArgumentParser(prog="tools/binaries.py", description=HELP,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--bring", action="store_true")
    arguments = parser.parse_args()
    folder = arguments.folder
    if arguments.bring:
        bring_libraries(folder)
        return
    lines = [line for path in binaries(folder) for line in find_problems(path, path.relative_to(folder))]
    if lines:
        sys.exit("\n".join([*(f"binaries: {line}" for line in lines),
                            "binaries: build on Debian 12; a function of a newer glibc can be defined in "
                            "bazel/older_glibc.c"]))


if __name__ == "__main__":
    main()
