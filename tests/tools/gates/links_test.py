#!/usr/bin/python3
"""tools/gates/links.py on pages that lead to nowhere."""

import unittest

from gate_test import GateTest


class LinksTest(GateTest):
    def test_existing_targets(self):
        self.write("docs/a.md", "# What `it` is, and\n## Twice\n## Twice\n<a id=\"own\"></a>\n")
        self.write("client/x.h", "// See docs/a.md#twice-1.\n")
        self.write("README.md", """[a](docs/a.md) [b](docs/a.md#what-it-is-and) ![c](client/x.h) [d](docs) [e](#top)
# Top
[f](https://example.com/x) [g](docs/a.md#own "title") [h][ref] `[i](nowhere)` `client/{x,x}.h` `client/*.h` `docs/a.md`
```
[j](nowhere) `client/nowhere.h`
```
[ref]: docs/a.md#twice
""")
        self.assert_finds(self.run_gate("links.py"))

    def test_broken_links(self):
        self.write("docs/a.md", "# A\n[up](b.md)\n[b](../README.md#b)\n<img src=\"c.svg\">\n")
        self.write("README.md", "[a](docs/a.md#c)\n[b](#nowhere)\n[c]: gone.md\n")
        self.assert_finds(self.run_gate("links.py"), ("README.md:1", "a heading that docs/a.md does not have"),
                          ("README.md:2", "'#nowhere'"), ("README.md:3", "gone.md, which is not there"),
                          ("docs/a.md:2", "docs/b.md"), ("docs/a.md:3", "'../README.md#b'"), ("docs/a.md:4", "docs/c.svg"))

    def test_mentions_and_paths(self):
        self.write("docs/a.md", "`client/gone.h`, `client/{a,b}.h`\n")
        self.write("client/a.h", "// docs/gone.md has it.\n// docs/a.md#none too\n")
        self.assert_finds(self.run_gate("links.py"), ("docs/a.md:1", "`client/gone.h`"), ("docs/a.md:1", "`client/{a,b}.h`"),
                          ("client/a.h:1", "docs/gone.md"), ("client/a.h:2", "docs/a.md#none"))

    def test_ignored_files_do_not_count(self):
        self.write(".gitignore", "/out\n")
        self.write("out/a.md", "")
        self.write("README.md", "[a](out/a.md)\n")
        self.assert_finds(self.run_gate("links.py"), ("README.md:1", "out/a.md"))


if __name__ == "__main__":
    unittest.main()
