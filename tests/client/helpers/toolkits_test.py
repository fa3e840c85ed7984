"""Every row of docs/toolkits.md is true: its C++ names are declared in the headers that its section names, and README.md
names tests of it that are there.

Also: every link of the page leads to something, and every header of the helpers has a section.
"""

import pathlib
import re
import unittest

PAGE = pathlib.Path("docs/toolkits.md")
TESTS = pathlib.Path("tests/client/helpers/README.md")
HELPERS = ["toolkits/current_job.h", "toolkits/gather.h", "toolkits/run_on.h", "scopes.h", "launch.h", "parallel_exchange.h",
           "workspace.h", "toolkits/device.h", "toolkits/tensor_collectives.h"]
LINK = re.compile(r"\[([^\]]*)\]\(([^)]*)\)")


def resolve(target, page=PAGE):
    return (page.parent / target).resolve()


def cells(line):
    return [cell.strip() for cell in line.strip("|").split(" | ")]


def table(text):
    """The rows of the tables in a text, without their heads."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [cells(line) for line, following in zip(lines, lines[1:] + [""])
            if line.startswith("| ") and not following.startswith("|--")]


def sections():
    """(headers, rows) of each section that has a table."""
    for text in re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE):
        rows_here = table(text)
        if rows_here:
            introduction = text[:text.index("|")]
            yield [target for _, target in LINK.findall(introduction) if target.endswith(".h")], rows_here


def rows():
    return [row for _, rows_here in sections() for row in rows_here]


def rows_of_tests():
    """The tests of a row, and those of its Python name, by the C++ names."""
    return {row[0]: (LINK.findall(row[1]), LINK.findall(row[2])) for row in table(TESTS.read_text(encoding="utf-8"))}


def code_of(header):
    """A header without its comments."""
    text = resolve(header).read_text(encoding="utf-8")
    return re.sub(r"//.*", "", text)


def declared(name, code):
    kind = rf"\b(class|struct|using|enum class)\s+{name}\b"
    function = rf"[\w>&*\]]\s+&?\*?{name}\("
    member = rf"[\w>]\s+{name}\s*(=|;)"
    return any(re.search(pattern, code) for pattern in (kind, function, member))


def our_names(cell):
    """`Job::rank()` -> rank, `RunOnMain(job, fn)` -> RunOnMain."""
    for quoted in re.findall(r"`([^`]*)`", cell):
        yield quoted.split("(")[0].split("::")[-1]


def test_cases(path):
    source = resolve(path, TESTS).read_text(encoding="utf-8")
    found = re.findall(r"\bTEST(?:_[FP])?\(\s*(\w+),\s*(\w+)\s*\)", source)
    return {f"{suite}.{case}" for suite, case in found}


class ToolkitsTest(unittest.TestCase):
    def test_the_table_is_complete(self):
        self.assertGreater(len(rows()), 25)
        for row in rows():
            self.assertEqual(len(row), 3, row)

    def test_our_names_are_declared_in_the_headers(self):
        for headers, rows_here in sections():
            code = "".join(code_of(target) for target in headers)
            for row in rows_here:
                names = list(our_names(row[1]))
                self.assertTrue(names, row)
                for name in names:
                    self.assertTrue(declared(name, code), f"{name} is not declared in {headers}")

    def test_the_tests_are_there(self):
        tests = rows_of_tests()
        self.assertEqual(sorted(tests), sorted(row[1] for row in rows()), "README.md has other rows than docs/toolkits.md")
        for row in rows():
            links = tests[row[1]][0]
            self.assertTrue(links, row)
            for name, target in links:
                self.assertIn(name.strip("`"), test_cases(target))

    def test_names_in_python_are_in_the_package_and_their_tests_are_there(self):
        code = resolve("../client/python/muster/toolkits.py").read_text(encoding="utf-8")
        tests = rows_of_tests()
        for row in rows():
            for name in re.findall(r"`(\w+)`", row[0]):
                self.assertRegex(code, rf"(?m)^(def {name}\(|class {name}:|{name} = )", row[0])
            links = tests[row[1]][1]
            self.assertTrue(links, row)
            for name, target in links:
                suite, case = name.strip("`").split(".")
                self.assertRegex(resolve(target, TESTS).read_text(encoding="utf-8"), rf"(?s)class {suite}\(.*def {case}\(self\)")

    def test_links_lead_somewhere(self):
        for page in (PAGE, TESTS):
            for name, target in LINK.findall(page.read_text(encoding="utf-8")):
                self.assertTrue(resolve(target.partition("#")[0], page).exists(), f"{page}: {name}: {target}")
                if target.endswith("_test.cc"):
                    self.assertIn(name.strip("`"), test_cases(target))

    def test_every_header_of_the_helpers_has_a_section(self):
        headers = " ".join(f"{target}\n" for headers, _ in sections() for target in headers)
        for header in HELPERS:
            self.assertIn(f"/{header}\n", headers)


if __name__ == "__main__":
    unittest.main()
