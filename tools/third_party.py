#!/usr/bin/python3
"""Lists the libraries that are linked into Muster's programs, with their licences. See --help.

tools/install and tools/image-content run this; tools/wheel imports it.
"""

import argparse
import datetime
import json
import os
import pathlib
import re
import subprocess
import sys

TREE = pathlib.Path(__file__).resolve().parent.parent
# Debian's packages, with the licences of their archives and headers. Their build scripts and tests may have others. A "*"
# stands for a version in a package's name. tests/tools/third_party_test.py compares the list with tools/install-deps.
COMPONENTS = {
    "libabsl-dev": "Apache-2.0",
    "libboost*-dev": "BSL-1.0",
    "libc-ares-dev": "MIT",
    "libcli11-dev": "BSD-3-Clause",
    "libfmt-dev": "MIT",
    "libgloo-dev": "BSD-3-Clause",
    "libgrpc++-dev": "Apache-2.0 AND BSD-3-Clause AND MIT",
    "libprotobuf-dev": "BSD-3-Clause",
    "libre2-dev": "BSD-3-Clause",
    "libspdlog-dev": "MIT",
    "libssl-dev": "Apache-2.0",
    "libstdc++-*-dev": "GPL-3.0-or-later WITH GCC-exception-3.1",   # and libgcc
    "libutfcpp-dev": "BSL-1.0",
    "nlohmann-json3-dev": "MIT",
    "zlib1g-dev": "Zlib",
}

HELP = """
Lists Debian's packages that are linked into musterd, muster and libmuster.so when --config=static builds them.

  texts   prints the text of each package's licence
  spdx    prints packages, versions and licences in SPDX 2.3, as JSON
"""


def installed():
    """Returns lists of package, source, version and licence, in the order of their names."""
    form = "${binary:Package} ${source:Package} ${source:Version} ${db:Status-Status}\\n"
    said = subprocess.run(["dpkg-query", "-W", "-f", form, *COMPONENTS], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, check=False).stdout
    found = []
    for pattern, licence in sorted(COMPONENTS.items()):
        name = re.compile(re.escape(pattern).replace(r"\*", r"[0-9.]+") + r"(:\w+)?")
        lines = [line.split() for line in said.splitlines() if line.endswith(" installed")]
        versions = [line for line in lines if name.fullmatch(line[0])]
        if not versions:
            sys.exit(f"third_party: Debian's package {pattern} is not installed; run tools/install-deps --build")
        package, source, version, _ = versions[-1]   # the newest GCC's
        found.append((package.split(":")[0], source, version, licence))
    return found


def terms(package, licence):
    text = pathlib.Path(f"/usr/share/doc/{package}/copyright").read_bytes()
    # Boost's file has 2 MB, most of it about libraries that Muster does not use.
    own = re.search(rb"^License: BSL-1\.0\n(?: .*\n)+", text, re.MULTILINE) if licence == "BSL-1.0" else None
    return own[0] if own else text


def texts():
    """Returns the text of each component's licence by the name of its package."""
    return {package: terms(package, licence) for package, _, _, licence in installed()}


def muster_version():
    text = (TREE / "client/include/muster/version.h").read_text(encoding="utf-8")
    return re.search(r'^#define MUSTER_VERSION "(.*)"', text, re.MULTILINE)[1]


def distribution():
    release = dict(re.findall(r'^(\w+)="?([^"\n]*)', pathlib.Path("/etc/os-release").read_text(encoding="utf-8"), re.M))
    return f"{release['ID']}-{release['VERSION_ID']}"


def element(name, version, licence, **more):
    return {"name": name, "SPDXID": "SPDXRef-" + re.sub(r"[^a-zA-Z0-9.-]", "-", name), "versionInfo": version,
            "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": licence,
            "licenseDeclared": licence, "copyrightText": "NOASSERTION", **more}


def source_date():
    """Returns when the sources are from, in seconds since 1970: SOURCE_DATE_EPOCH, or the commit's date."""
    if "SOURCE_DATE_EPOCH" in os.environ:
        return int(os.environ["SOURCE_DATE_EPOCH"])
    try:
        commit = subprocess.run(["git", "-C", str(TREE), "log", "-1", "--format=%ct"], stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL, text=True, check=False)
    except FileNotFoundError:   # an image's build has no git
        return 0
    return int(commit.stdout or 0)


def spdx():
    """Returns the list as JSON. The same commit and packages give the same bytes."""
    version = muster_version()
    created = datetime.datetime.fromtimestamp(source_date(), datetime.timezone.utc)
    muster = element("muster", version, "Apache-2.0")
    inside = []
    for package, source, package_version, licence in installed():
        purl = f"pkg:deb/debian/{source}@{package_version.replace('+', '%2B')}?arch=source&distro={distribution()}"
        inside.append(element(package, package_version, licence, externalRefs=[{
            "referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}]))
    document = {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"muster-{version}",
        "documentNamespace": f"https://spdx.org/spdxdocs/muster-{version}-{created:%Y%m%d%H%M%S}",
        "creationInfo": {"created": f"{created:%Y-%m-%dT%H:%M:%SZ}", "creators": ["Tool: tools/third_party.py"]},
        "packages": [muster, *inside],
        "relationships": [
            {"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": muster["SPDXID"]},
            *({"spdxElementId": part["SPDXID"], "relationshipType": "STATIC_LINK", "relatedSpdxElement": muster["SPDXID"]}
              for part in inside)],
    }
    return json.dumps(document, indent=1) + "\n"


def main():
    parser = argparse.ArgumentParser(prog="tools/third_party.py", description=HELP,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["texts", "spdx"])
    if parser.parse_args().what == "spdx":
        print(spdx(), end="")
        return
    for package, text in texts().items():
        print(f"== {package}\n\n{text.decode(errors='replace')}\n")


if __name__ == "__main__":
    main()
