#!/usr/bin/python3
"""tools/site/pages.py: what becomes of the pages of a tree, and of what they link to."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

PAGES = os.path.join(os.getcwd(), "tools/site/pages.py")


class PagesTest(unittest.TestCase):
    def lay_out(self, files):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["git", "init", "--quiet", folder], check=True)
            for name, text in files.items():
                os.makedirs(os.path.dirname(os.path.join(folder, "tree", name)), exist_ok=True)
                with open(os.path.join(folder, "tree", name), "w", encoding="utf-8") as file:
                    file.write(text)
            command = [sys.executable, PAGES, "--pages", "../pages", "--site", "../site", "--config", "../config"]
            subprocess.run(command, cwd=os.path.join(folder, "tree"), check=True)
            pages = {}
            for below, _, names in os.walk(os.path.join(folder, "pages")):
                for name in names:
                    path = os.path.join(below, name)
                    with open(path, encoding="utf-8") as file:
                        pages[os.path.relpath(path, os.path.join(folder, "pages"))] = file.read()
            with open(os.path.join(folder, "config"), encoding="utf-8") as file:
                return pages, json.load(file)

    def test_pages_and_their_order(self):
        pages, config = self.lay_out({"README.md": "# Home", "docs/z.md": "# Alpha", "docs/a.md": "# `Beta`",
                                      "docs/decisions/1.md": "# No disk", "CHANGELOG.md": "# Changes", "x/README.md": "# X"})
        self.assertEqual(sorted(pages), ["CHANGELOG.md", "README.md", "docs/a.md", "docs/decisions/1.md", "docs/z.md", "x/README.md"])
        self.assertEqual(config["nav"], [{"Home": "README.md"}, {"Guide": [{"Alpha": "docs/z.md"}, {"Beta": "docs/a.md"}]},
                                         {"Decisions": [{"No disk": "docs/decisions/1.md"}]},
                                         {"Project": [{"Changes": "CHANGELOG.md"}]}, {"C++ API": "api/index.html"}])

    def test_includes_linked_files(self):
        pages, _ = self.lay_out({"README.md": "", "docs/a.md": "[h](../client/x.h#L3) ![p](p.svg) [d](../client) [m](b.md#c)\n[r]: ../run\n",
                                 "docs/b.md": "", "docs/p.svg": "<svg/>", "client/x.h": "int x;  // ```\n", "run": "#!/bin/sh\n", "other": ""})
        self.assertEqual(pages["docs/a.md"], "[h](../source/client/x.h.md) ![p](p.svg) [d](../source/client/index.md) [m](b.md#c)\n"
                         "[r]: ../source/run.md\n")
        self.assertEqual(pages["docs/p.svg"], "<svg/>")
        self.assertEqual(pages["source/client/x.h.md"], "# client/x.h\n\n````cpp\nint x;  // ```\n````\n")
        self.assertEqual(pages["source/client/index.md"], "# client\n\n- `x.h`\n")
        self.assertIn("```bash\n#!/bin/sh", pages["source/run.md"])
        self.assertNotIn("source/other.md", pages)

    def test_links_in_html(self):
        pages, _ = self.lay_out({"README.md": '<a href="docs/a.md#b">x</a><img src="p.svg"><a href="run">y</a><a href="http://x/y.md">',
                                 "docs/a.md": '<a href="../README.md">', "p.svg": "", "run": ""})
        self.assertEqual(pages["README.md"], '<a href="docs/a.html#b">x</a><img src="p.svg"><a href="source/run.html">y</a>'
                         '<a href="http://x/y.md">')
        self.assertEqual(pages["docs/a.md"], '<a href="../index.html">')

    def test_keeps_broken_and_external_links(self):
        text = "[a](gone.h) [b](https://example.com/) [c](#d)\n```\n[e](x.h)\n```\n"
        pages, _ = self.lay_out({"README.md": text, "x.h": ""})
        self.assertEqual(pages["README.md"], text)

    def test_a_list_after_a_paragraph(self):
        pages, _ = self.lay_out({"README.md": "Text:\n- a\n  more\n- b\n\n1. c\n2. d\n"})
        self.assertEqual(pages["README.md"], "Text:\n\n- a\n  more\n- b\n\n1. c\n2. d\n")


if __name__ == "__main__":
    unittest.main()
