#!/usr/bin/python3
"""Lays out the tree's Markdown files for mkdocs, as they lie in the tree, and writes mkdocs' configuration.

What pages link to beside pages goes along: pictures as they are, sources as pages that show them, folders as
lists of what is in them. So no link of the site leads out of it but to the web.
"""

import argparse
import json
import os
import posixpath
import re
import shutil
import subprocess
import sys

LINK = re.compile(r"(\]\(\s*<?|<(?:img|a|source)\b[^>]*?\b(?:src|href|srcset)=\")([^)\s>\"]+)")
DEFINITION = re.compile(r"^(\s{0,3}\[[^\]]+\]:\s*)(\S+)")
FENCE = re.compile(r"^\s*(```|~~~)")
LIST_ITEM = re.compile(r"^(?:[-*+]|\d+\.) ")
PICTURES = (".svg", ".png", ".jpg")
LANGUAGES = {".h": "cpp", ".cc": "cpp", ".cu": "cpp", ".c": "c", ".py": "python", ".sh": "bash", ".proto": "protobuf", ".yaml": "yaml",
             ".yml": "yaml", ".bazel": "python", ".bzl": "python", ".cmake": "cmake", ".md": "markdown"}
PROJECT = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "RELEASING.md")


def tracked():
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\0")
    return {name for name in names if name and os.path.isfile(name)}


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def title_of(text, path):
    match = re.search(r"^# +(.*?)\s*$", text, re.M)
    return re.sub(r"[`*]", "", match[1]) if match else posixpath.basename(path)


class Site:
    def __init__(self, folder):
        self.folder = folder
        self.files = tracked()
        self.folders = {posixpath.dirname(file) for file in self.files}
        self.folders |= {"/".join(folder.split("/")[:depth]) for folder in self.folders for depth in range(1, folder.count("/") + 1)}
        self.sources = set()   # files and folders that have got a page of their own

    def write(self, path, text):
        path = os.path.join(self.folder, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def add_source(self, path):
        """The page that shows a file or a folder."""
        page = f"source/{path}/index.md" if path in self.folders else f"source/{path}.md"
        if path not in self.sources:
            self.sources.add(path)
            self.write(page, self.folder_page(path) if path in self.folders else self.source_page(path))
        return page

    def source_page(self, path):
        text = read(path).rstrip("\n")
        language = LANGUAGES.get(posixpath.splitext(path)[1], "bash" if text.startswith("#!") else "text")
        fence = "`" * max([3] + [len(ticks) + 1 for ticks in re.findall(r"`+", text)])
        return f"# {path}\n\n{fence}{language}\n{text}\n{fence}\n"

    def folder_page(self, path):
        below = sorted(file for file in self.files if file.startswith(path + "/"))
        return f"# {path}\n\n" + "".join(f"- `{file[len(path) + 1:]}`\n" for file in below)

    def target(self, page, target):
        """Where a link of a page leads on the site."""
        path, mark, anchor = target.partition("#")
        if not path or re.match(r"[a-z][a-z0-9+.-]*:|//", target):
            return target
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page), path))
        if path.endswith(".md") and path in self.files:
            return target
        if path.endswith(PICTURES) and path in self.files:
            os.makedirs(os.path.join(self.folder, posixpath.dirname(path)), exist_ok=True)
            shutil.copy(path, os.path.join(self.folder, path))
            return target
        if path in self.files or path in self.folders:
            return posixpath.relpath(self.add_source(path), posixpath.dirname(page) or ".")
        return target   # mkdocs says that it leads nowhere

    def link(self, page, found):
        """The target of a link; mkdocs leaves those in HTML to us."""
        target = self.target(page, found[2])
        if found[1].startswith("<"):
            target = re.sub(r"(^|/)README\.md(?=#|$)", r"\1index.md", target)
            target = target if ":" in target else re.sub(r"\.md(?=#|$)", ".html", target)
        return target

    def add_page(self, page):
        """Copied, with its links; a list after a paragraph gets the empty line that mkdocs wants, and GitHub does not."""
        lines, fence = [], None
        for line in read(page).split("\n"):
            match = FENCE.match(line)
            if match and fence in (None, match[1]):
                fence = match[1] if fence is None else None
            elif fence is None:
                line = LINK.sub(lambda found: found[1] + self.link(page, found), line)
                line = DEFINITION.sub(lambda found: found[1] + self.target(page, found[2]), line)
                if LIST_ITEM.match(line) and lines and lines[-1] and not re.match(r"[-*+\s]|\d+\.", lines[-1]):
                    lines.append("")
            lines.append(line)
        self.write(page, "\n".join(lines))

    def entries(self, pages):
        titles = sorted((title_of(read(page), page), page) for page in pages if page in self.files)
        return [{title: page} for title, page in titles]

    def navigation(self, pages):
        sections = {}
        for page in pages:
            if page.startswith("docs/"):
                sections.setdefault(posixpath.dirname(page), []).append(page)
        result = [{"Home": "README.md"}]
        for section in sorted(sections):
            name = "Guide" if section == "docs" else posixpath.basename(section).capitalize()
            result.append({name: self.entries(sections[section])})
        result.append({"Project": self.entries(PROJECT)})
        return result + [{"C++ API": "api/index.html"}]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", required=True, metavar="FOLDER", help="where the pages go")
    parser.add_argument("--site", required=True, metavar="FOLDER", help="where mkdocs is to put the site")
    parser.add_argument("--config", required=True, metavar="FILE", help="where its configuration goes")
    args = parser.parse_args()
    site = Site(args.pages)
    pages = sorted(file for file in site.files if file.endswith(".md"))
    for page in pages:
        site.add_page(page)
    config = {"INHERIT": os.path.abspath(os.path.join(os.path.dirname(__file__), "mkdocs.yml")),
              "docs_dir": os.path.abspath(args.pages), "site_dir": os.path.abspath(args.site), "nav": site.navigation(pages)}
    with open(args.config, "w", encoding="utf-8") as file:
        json.dump(config, file)   # which is YAML
    sys.exit(0)


if __name__ == "__main__":
    main()
