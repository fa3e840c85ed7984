#!/usr/bin/python3
"""Looks at the .proto files below a folder: the wire contract, which outlives every program that speaks it.

  comments   every message, field, enum, value, service and rpc says what it is for, but for an rpc's own
             XRequest and XResponse, and fields x of these types, which the rpc's comment speaks of
  names      CamelCase types and rpcs, snake_case fields, UPPER_CASE values that begin with their enum's name;
             a service is called ...Service; an rpc X takes XRequest and answers XResponse, which no other has
  enums      value 0 is ..._UNSPECIFIED: what a peer that knows nothing of the field has sent
  units      a time is a google.protobuf.Duration or Timestamp, never a number; a number of bytes ends in
             _bytes
  packages   are named as their folder, and end in a version: muster/v1 has muster.v1
  released   what proto/released.txt lists keeps its number, name and type for good, or is reserved, number and name

released.txt lists what clients may rely on. --release writes it anew: when a version is released, or where
a change that breaks clients is meant, and CHANGELOG.md says so. What is listed is not asked for units.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile

from google.protobuf import descriptor_pb2
from google.protobuf.descriptor_pb2 import FieldDescriptorProto as Field

from findings import Findings

CAMEL = re.compile(r"[A-Z][A-Za-z0-9]*$")
SNAKE = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*$")
UPPER = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$")
TIME = re.compile(r"(^|_)(ms|millis|us|micros|ns|nanos|s|secs?|seconds|minutes|hours|timeout|duration|time|age|delay|interval|"
                  r"grace|deadline|ttl|timestamp)$")
BYTES = re.compile(r"(^|_)(size|length|kb|kib|mb|mib|gb|gib)$")
NUMBERS = {Field.TYPE_DOUBLE, Field.TYPE_FLOAT, Field.TYPE_INT64, Field.TYPE_UINT64, Field.TYPE_INT32, Field.TYPE_FIXED64,
           Field.TYPE_FIXED32, Field.TYPE_UINT32, Field.TYPE_SFIXED32, Field.TYPE_SFIXED64, Field.TYPE_SINT32, Field.TYPE_SINT64}
COUNT = re.compile(r"(^|_)world_size$")   # a field term: a number of ranks

# Numbers of fields in descriptor.proto, which paths in source info are made of.
FILE_MESSAGE, FILE_ENUM, FILE_SERVICE = 4, 5, 6
MESSAGE_FIELD, MESSAGE_MESSAGE, MESSAGE_ENUM = 2, 3, 4
ENUM_VALUE, SERVICE_METHOD = 2, 2


def type_of(field):
    kind = field.type_name.lstrip(".") or Field.Type.Name(field.type)[len("TYPE_"):].lower()
    if field.label == Field.LABEL_REPEATED:
        return f"repeated {kind}"
    return f"optional {kind}" if field.proto3_optional else kind


def carries_rpc(field):
    """Whether it is named as its type, which is an rpc's: JoinRequest join."""
    kind = field.type_name.split(".")[-1]
    return upper_of(kind) in {field.name.upper() + suffix for suffix in ("_REQUEST", "_RESPONSE")}


def upper_of(name):
    """LEASE_SCOPE of LeaseScope."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).upper()


def compile_protos(root, files):
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "set")
        command = ["protoc", f"-I{root}", "-I/usr/include", "--include_source_info", f"--descriptor_set_out={out}", *files]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{root}: protoc cannot make sense of it:\n{done.stderr}")
        with open(out, "rb") as file:
            return descriptor_pb2.FileDescriptorSet.FromString(file.read())


class Linter:
    def __init__(self, root, findings):
        self.root, self.findings = root, findings
        self.contract = {}   # "muster.v1.EpochId 1": ("field", name, type)
        self.reserved = set()   # "muster.v1.EpochId 7" and "muster.v1.EpochId name"
        self.released = set()   # keys of `contract` whose name is fixed for good
        self.places = {}   # full names, and the keys of `contract`: (file, line)

    def add(self, place, text):
        self.findings.add(*place, text)

    def place(self, path):
        location = self.locations.get(tuple(path))
        return os.path.join(self.root, self.file.name), location.span[0] + 1 if location else 1

    def check_file(self, file):
        self.file = file
        self.locations = {tuple(location.path): location for location in file.source_code_info.location}
        self.check_package()
        self.own = self.own_of_rpcs()
        for i, message in enumerate(file.message_type):
            self.check_message(message, file.package, [FILE_MESSAGE, i])
        for i, enum in enumerate(file.enum_type):
            self.check_enum(enum, file.package, [FILE_ENUM, i])
        for i, service in enumerate(file.service):
            self.check_service(service, [FILE_SERVICE, i])

    def check_package(self):
        package = self.file.package
        place = self.place([2])
        folder = os.path.dirname(self.file.name).replace("/", ".")
        if package != folder:
            self.add(place, f"package '{package}' is not that of its folder; call it '{folder}'")
        if not re.search(r"\.v[0-9]+((alpha|beta)[0-9]+)?$", package):
            self.add(place, f"package '{package}' has no version; end it in .v1")

    def own_of_rpcs(self):
        return {method.name + suffix for service in self.file.service for method in service.method
                for suffix in ("Request", "Response")}

    def check_comment(self, path, what):
        location = self.locations.get(tuple(path))
        if not location or not (location.leading_comments.strip() or location.trailing_comments.strip()):
            self.add(self.place(path), f"{what} has no comment; say what it is for")

    def check_message(self, message, scope, path):
        name = f"{scope}.{message.name}"
        place = self.places[name] = self.place(path)
        if not CAMEL.match(message.name):
            self.add(place, f"message {message.name} is not CamelCase; rename it")
        if message.options.map_entry:
            return
        if message.name not in self.own:
            self.check_comment(path, f"message {message.name}")
        for span in message.reserved_range:
            self.reserved |= {f"{name} {number}" for number in range(span.start, min(span.end, span.start + 10000))}
        self.reserved |= {f"{name} {reserved}" for reserved in message.reserved_name}
        for i, field in enumerate(message.field):
            self.check_field(field, name, path + [MESSAGE_FIELD, i])
        for i, nested in enumerate(message.nested_type):
            self.check_message(nested, name, path + [MESSAGE_MESSAGE, i])
        for i, enum in enumerate(message.enum_type):
            self.check_enum(enum, name, path + [MESSAGE_ENUM, i])

    def check_field(self, field, message, path):
        place = self.place(path)
        self.keep(f"{message} {field.number}", "field", field.name, type_of(field), place)
        if not carries_rpc(field):
            self.check_comment(path, f"field {field.name}")
        if not SNAKE.match(field.name):
            self.add(place, f"field {field.name} is not snake_case; rename it")
        if field.type not in NUMBERS or f"{message} {field.number}" in self.released:
            return
        if TIME.search(field.name):
            self.add(place, f"field {field.name} is a time as a number; make it a google.protobuf.Duration or Timestamp")
        if BYTES.search(field.name) and not COUNT.search(field.name):
            self.add(place, f"field {field.name} does not say its unit; if it is a number of bytes, end its name in _bytes")

    def check_enum(self, enum, scope, path):
        name = f"{scope}.{enum.name}"
        place = self.places[name] = self.place(path)
        if not CAMEL.match(enum.name):
            self.add(place, f"enum {enum.name} is not CamelCase; rename it")
        self.check_comment(path, f"enum {enum.name}")
        for span in enum.reserved_range:
            self.reserved |= {f"{name} {number}" for number in range(span.start, min(span.end, span.start + 10000) + 1)}
        self.reserved |= {f"{name} {reserved}" for reserved in enum.reserved_name}
        prefix = upper_of(enum.name) + "_"
        for i, value in enumerate(enum.value):
            self.check_value(value, name, prefix, path + [ENUM_VALUE, i])

    def check_value(self, value, enum, prefix, path):
        place = self.place(path)
        self.keep(f"{enum} {value.number}", "value", value.name, "", place)
        if value.number == 0 and value.name != prefix + "UNSPECIFIED":
            self.add(place, f"value {value.name} is 0; call it {prefix}UNSPECIFIED, and let it mean that nothing was said")
        if value.number != 0:
            self.check_comment(path, f"value {value.name}")
        if not UPPER.match(value.name) or not value.name.startswith(prefix):
            self.add(place, f"value {value.name} does not begin with its enum's name in capitals; call it {prefix}...")

    def check_service(self, service, path):
        name = f"{self.file.package}.{service.name}"
        place = self.places[name] = self.place(path)
        if not CAMEL.match(service.name) or not service.name.endswith("Service"):
            self.add(place, f"service {service.name} is not called ...Service; rename it")
        self.check_comment(path, f"service {service.name}")
        for i, method in enumerate(service.method):
            self.check_rpc(method, name, path + [SERVICE_METHOD, i])

    def check_rpc(self, method, service, path):
        place = self.place(path)
        stream = ("stream " * method.client_streaming, "stream " * method.server_streaming)
        types = (method.input_type.lstrip("."), method.output_type.lstrip("."))
        self.keep(f"{service} {method.name}", "rpc", method.name, f"({stream[0]}{types[0]}) returns ({stream[1]}{types[1]})", place)
        self.check_comment(path, f"rpc {method.name}")
        if not CAMEL.match(method.name):
            self.add(place, f"rpc {method.name} is not CamelCase; rename it")
        for found, suffix in zip(types, ("Request", "Response")):
            expected = method.name + suffix
            if found != f"{self.file.package}.{expected}":
                self.add(place, f"rpc {method.name} has {found.split('.')[-1]}; give it a {expected} of its own, so that each can grow")

    def keep(self, key, kind, name, type_name, place):
        self.contract[key] = (kind, name, type_name)
        self.places[key] = place

    def check_released(self, path, entries):
        for line, entry in entries:
            self.check_kept(path, line, *entry)

    def check_kept(self, path, line, kind, owner, number, name, type_name=""):
        key = f"{owner} {number}"
        now = self.contract.get(key)
        place = self.places.get(key) or self.places.get(owner) or (path, line)
        what = f"{kind} {name} of {owner.split('.')[-1]}"
        if now is None:
            if kind == "rpc":
                self.add(place, f"{what} was released and is gone; keep it, and let it answer UNIMPLEMENTED")
            elif owner not in self.places:
                self.add((path, line), f"{owner} was released with {kind} {name} = {number} and is gone; keep it")
            elif not {key, f"{owner} {name}"} <= self.reserved:
                self.add(place, f"{what} was released with number {number} and is gone; write `reserved {number}; reserved "
                         f"\"{name}\";`")
        elif now[1] != name:
            self.add(place, f"number {number} was released as {kind} {name}; give {now[1]} a number of its own, and reserve {number}")
        elif now[2] != type_name:
            self.add(place, f"{what} was released as `{type_name}` and is `{now[2]}`; add another one, and leave this as it was")

    def write_released(self, path):
        with open(path, "w", encoding="utf-8") as file:
            file.write("# The wire contract that clients rely on: kind, owner, number, name and type. Nothing that is listed\n"
                       "# changes its number, name or type. tools/gates/protos.py checks that, and writes this with --release.\n")
            for key, (kind, name, type_name) in sorted(self.contract.items(), key=lambda item: order(item[0])):
                file.write("\t".join([kind, *key.split(" "), name, type_name]).rstrip("\t") + "\n")


def read_released(path):
    """(line, [KIND, OWNER, NUMBER or rpc's name, NAME, TYPE if any]) of each line."""
    with open(path, encoding="utf-8") as file:
        return [(line, text.rstrip("\n").split("\t")) for line, text in enumerate(file, 1)
                if text.strip() and not text.startswith("#")]


def order(key):
    owner, number = key.split(" ")
    return owner, int(number) if number.lstrip("-").isdigit() else 0, number


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", default="proto", help="the folder that imports start below (proto)")
    parser.add_argument("--release", action="store_true", help="write released.txt there anew")
    args = parser.parse_args()
    files = [os.path.relpath(os.path.join(folder, name), args.root)
             for folder, _, names in os.walk(args.root) for name in sorted(names) if name.endswith(".proto")]
    findings = Findings("proto")
    linter = Linter(args.root, findings)
    released = os.path.join(args.root, "released.txt")
    entries = read_released(released) if os.path.exists(released) else []
    linter.released = {f"{owner} {number}" for _, (_, owner, number, *_) in entries}
    for file in compile_protos(args.root, sorted(files)).file:
        linter.check_file(file)
    if args.release:
        linter.write_released(released)
    elif entries:
        linter.check_released(released, entries)
    else:
        findings.add(released, 1, "is missing; write it by tools/gates/protos.py --release")
    sys.exit(findings.exit_code())


if __name__ == "__main__":
    main()
