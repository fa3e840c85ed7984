#!/usr/bin/python3
"""tools/gates/prose.py on comments and pages that are hard to read."""

import unittest

from gate_test import GateTest

SENTENCES = "The daemon rejects the call.\n" * 12


class ProseTest(GateTest):
    def test_plain_words(self):
        self.write("a.h", "// Returns the rank. Blocks until all members have joined.\nint Who();\n")
        self.write("docs/a.md", f"# What who\n{SENTENCES}\n\n```\n{'x' * 120}, for who passes\n```\n| {'wide ' * 30} |\n")
        self.assert_finds(self.run_gate("prose.py"))

    def test_comments_that_open_without_a_noun(self):
        self.write("a.cc", "// Those are waiting.\nint a;\n// What is it? A rank.\nint b;\n/* Who has\n * left. */\nint c;\n// The one\n")
        self.write("b.py", "#!/bin/python3\n# What to do\n# whoever waits\n")
        self.assert_finds(self.run_gate("prose.py"), ("a.cc:1", "begins with 'Those'"), ("a.cc:5", "begins with 'Who'"),
                          ("a.cc:8", "begins with 'The one'"), ("b.py:2", "begins with 'What'"), ("b.py:3", "'whoever'"))

    def test_turns_of_phrase(self):
        self.write("a.proto", "// Waits for who is missing.\n// Code is not looked at.\nmessage A {}\n")
        self.write("a.md", "Every rank in the place of another,\nnot `for who` knows.\n")
        self.assert_finds(self.run_gate("prose.py"), ("a.md:1", "'in the place of': write \"instead of\""),
                          ("a.proto:1", "'for who'"))

    def test_long_sentences_and_lines(self):
        long = "The daemon " + "really " * 24 + "rejects the call."
        self.write("a.md", f"{SENTENCES}\n\n" + f"{long}\n\n".replace(" really", "\nreally") * 3)
        self.write("b.md", SENTENCES + "wide " * 25 + "\n")
        self.assert_finds(self.run_gate("prose.py"), ("a.md:67", "has 29 words or more; 25 are enough"), ("b.md:13", "125 columns"))

    def test_files_to_be_rewritten_later(self):
        self.write("tools/gates/prose_later.txt", "# A comment.\nclient/*\nserver/*\n")
        self.write("client/deep/a.h", "// Those that wait.\n")
        self.write("server/a.h", "// Returns.\n")
        self.assert_finds(self.run_gate("prose.py"), ("tools/gates/prose_later.txt:3", "nothing that server/* names"))


if __name__ == "__main__":
    unittest.main()
