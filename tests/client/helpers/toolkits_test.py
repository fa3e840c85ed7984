"""Every row of docs/toolkits.md is true to its links: our names are declared in the headers, and the tests are there.

Also: every link of the page leads to something, and every header of the helpers has a row.
"""

import pathlib
import re
import unittest

PAGE = pathlib.Path("docs/toolkits.md")
HELPERS = ["toolkits/current_job.h", "toolkits/gather.h", "toolkits/run_on.h", "scopes.h", "launch.h", "parallel_exchange.h",
           "workspace.h", "toolkits/device.h", "toolkits/tensor_collectives.h"]
LINK = re.compile(r"\[([^\]]*)\]\(([^)]*)\)")


def resolve(target):
    return (PAGE.parent / target).resolve()


def rows():
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[1:]]


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
    source = resolve(path).read_text(encoding="utf-8")
    found = re.findall(r"\bTEST(?:_[FP])?\(\s*(\w+),\s*(\w+)\s*\)", source)
    return {f"{suite}.{case}" for suite, case in found}


class ToolkitsTest(unittest.TestCase):
    def test_the_table_is_complete(self):
        self.assertGreater(len(rows()), 25)
        for row in rows():
            self.assertEqual(len(row), 6, row)

    def test_our_names_are_declared_in_the_headers(self):
        for row in rows():
            code = "".join(code_of(target) for _, target in LINK.findall(row[3]))
            names = list(our_names(row[1]))
            self.assertTrue(names, row)
            for name in names:
                self.assertTrue(declared(name, code), f"{name} is not declared in {row[3]}")

    def test_the_tests_are_there(self):
        for row in rows():
            links = LINK.findall(row[4])
            self.assertTrue(links, row)
            for name, target in links:
                self.assertIn(name.strip("`"), test_cases(target))

    def test_names_in_python_are_in_the_package_and_their_tests_are_there(self):
        code = resolve("../client/python/muster/toolkits.py").read_text(encoding="utf-8")
        left_out = 0
        for row in rows():
            if row[5].startswith("–"):
                left_out += 1
                continue
            if row[5].startswith("the same name"):
                for name in re.findall(r"`(\w+)`", row[0]):
                    self.assertRegex(code, rf"(?m)^(def {name}\(|{name} = )", row[0])
            links = LINK.findall(row[5])
            self.assertTrue(links, row)
            for name, target in links:
                suite, case = name.strip("`").split(".")
                self.assertRegex(resolve(target).read_text(encoding="utf-8"), rf"(?s)class {suite}\(.*def {case}\(self\)")
        self.assertLessEqual(left_out, 4)

    def test_links_lead_somewhere(self):
        for name, target in LINK.findall(PAGE.read_text(encoding="utf-8")):
            self.assertTrue(resolve(target.partition("#")[0]).exists(), f"{name}: {target}")
            if target.endswith("_test.cc"):
                self.assertIn(name.strip("`"), test_cases(target))

    def test_every_header_of_the_helpers_has_a_row(self):
        headers = " ".join(row[3] for row in rows())
        for header in HELPERS:
            self.assertIn(f"/{header})", headers)


if __name__ == "__main__":
    unittest.main()
