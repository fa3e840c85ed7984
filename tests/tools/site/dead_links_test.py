#!/usr/bin/python3
"""tools/site/dead_links.py on sites made up."""

import os
import subprocess
import sys
import tempfile
import unittest


class DeadLinksTest(unittest.TestCase):
    def check(self, **pages):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in pages.items():
                path = os.path.join(folder, name.replace("__", "/") + ".html")
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
            done = subprocess.run([sys.executable, "tools/site/dead_links.py", folder], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout.splitlines()

    def test_a_site_without_dead_links(self):
        status, _ = self.check(index='<a href="docs/a.html#x">a</a> <a href="https://example.com/none">b</a> <a href="docs">c</a>',
                               docs__a='<p id="x"><a href="../index.html">up</a><a href="#x">here</a><a name="y" href="#y"></a>',
                               docs__index="")
        self.assertEqual(status, 0)

    def test_missing_files_anchors_and_pictures(self):
        status, lines = self.check(index='<a href="a.html">1</a><a href="#b">2</a><img src="c.svg"><a href="d.html#e">3</a>', d="")
        self.assertEqual(status, 1)
        self.assertEqual([line.split("'")[1] for line in lines[:-1]], ["#b", "a.html", "c.svg", "d.html#e"])
        self.assertTrue(all(line.startswith("index.html: [docs] ") for line in lines[:-1]), lines)

    def test_empty_site(self):
        self.assertEqual(self.check()[0], 1)


if __name__ == "__main__":
    unittest.main()
