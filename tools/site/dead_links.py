#!/usr/bin/python3
"""Looks for links of a site's pages that lead to no file of it, or to no place in one.

Prints "PAGE: [docs] LINK ..." for each, and ends with status 1 if there are any. Addresses of the web are not
looked at.
"""

import html.parser
import os
import re
import sys
import urllib.parse


class Page(html.parser.HTMLParser):
    def __init__(self, path):
        super().__init__(convert_charrefs=True)
        self.places, self.links = set(), set()
        with open(path, encoding="utf-8", errors="replace") as file:
            self.feed(file.read())

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name == "id" or (name == "name" and tag == "a"):
                self.places.add(value)
            elif name in ("href", "src") and value:
                self.links.add(value)


def is_outside(link):
    return re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*:|//", link) is not None


def main():
    root = sys.argv[1]
    pages = {}
    for folder, _, names in os.walk(root):
        for name in names:
            # The page for addresses that do not exist may be shown anywhere: its links begin at the server's root.
            if name.endswith(".html") and os.path.join(folder, name) != os.path.join(root, "404.html"):
                path = os.path.normpath(os.path.join(folder, name))
                pages[path] = Page(path)
    dead = 0
    for path, page in sorted(pages.items()):
        for link in sorted(page.links):
            if is_outside(link):
                continue
            target, _, place = urllib.parse.unquote(link).partition("#")
            target = os.path.normpath(os.path.join(os.path.dirname(path), target.split("?")[0])) if target else path
            if os.path.isdir(target):
                target = os.path.join(target, "index.html")
            place_is_there = not place or target not in pages or place in pages[target].places
            if not os.path.exists(target) or not place_is_there:
                dead += 1
                what = "that place" if os.path.exists(target) else "that file"
                print(f"{os.path.relpath(path, root)}: [docs] '{link}' leads to nowhere: the site does not have {what}")
    print(f"{len(pages)} pages, {dead} dead links")
    sys.exit(1 if dead or not pages else 0)


if __name__ == "__main__":
    main()
