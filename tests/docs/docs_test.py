"""Every page can be found, tests that documents name are there, and no RPC is forgotten. That links and anchors lead
somewhere is tools/check's."""

import pathlib
import re
import sys
import unittest

TREE = pathlib.Path("README.md").resolve().parent
LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^)\s]+)\)")
TEST_LINK = re.compile(r"\[`([A-Z]\w*)\.(\w+)`\]\(([^)]+)\)")
MUTATION_LINK = re.compile(r"\[`([A-Z_]+)`\]\(\.\./tests/model/(\w+)\.pml\)")
RULE = re.compile(r"^\| \*\*([A-Z]\d+)\*\* \|")
RULES = ("docs/rules.md", "docs/node-fan-in.md")
DESIGNS = ("docs/store.md",)  # not built yet: only models hold these rules

# Files in which an RPC need not appear, and why.
EXCEPTIONS = {
    ("Broadcast", "tests/server/service/stranger_test.cc"): "to the daemon it is a Barrier with a payload",
    ("AbandonLease", "tests/simulation"): "the member sends it by itself, for ReleaseLease",
    ("GetStatus", "tests/simulation"): "the checks read the core's status",
    ("RequestInquiry", "tests/simulation"): "it changes what is told, and nothing that the members do",
    ("ReportInquiry", "tests/simulation"): "as RequestInquiry",
    ("GetInquiry", "tests/simulation"): "as RequestInquiry",
    ("RequestInquiry", "tests/fuzz/fuzzed_service.cc"): "no matter of the core, but of a desk beside it",
    ("ReportInquiry", "tests/fuzz/fuzzed_service.cc"): "as RequestInquiry",
    ("GetInquiry", "tests/fuzz/fuzzed_service.cc"): "as RequestInquiry",
}


def text_of(path):
    return (TREE / path).read_text(encoding="utf-8")


def documents():
    found = sorted(TREE.glob("*.md")) + sorted((TREE / "docs").rglob("*.md"))
    found += sorted((TREE / "examples").rglob("*.md")) + sorted((TREE / "tests").rglob("*.md"))
    return [path for path in found if path.is_file()]


def without_code(text):
    return re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)


def mutations():
    """Of each model of tests/model, the defines that break a rule, as its BUILD file says."""
    build = text_of("tests/model/BUILD.bazel")
    models = re.findall(r'^spin_model\(\n    name = "(\w+)",(.*?)^\)', build, re.MULTILINE | re.DOTALL)
    return {(name, mutation) for name, body in models
            for mutation in re.findall(r'^        "([A-Z_]+)":', body, re.MULTILINE)}


def tests_in(path):
    return set(re.findall(r"\bTEST(?:_[FP])?\(\s*(\w+),\s*(\w+)\)", path.read_text(encoding="utf-8")))


class PagesTest(unittest.TestCase):
    def test_pictures_exist_and_have_a_title(self):
        for picture in ("docs/architecture.svg", "docs/killed-rank.svg"):
            self.assertIn(f"]({picture})", text_of("README.md"))
            self.assertIn("<title>", text_of(picture))

    def test_readme_leads_to_every_document(self):
        found, left = set(), [TREE / "README.md"]
        while left:
            document = left.pop()
            if document in found or document.suffix != ".md" or not document.exists():
                continue
            found.add(document)
            for target in LINK.findall(without_code(document.read_text(encoding="utf-8"))):
                if not re.match(r"\w+:|#", target):
                    left.append((document.parent / target.partition("#")[0]).resolve())
        for document in documents():
            if document.parent == TREE or TREE / "docs" in document.parents:
                self.assertIn(document, found)


class PageTestCase(unittest.TestCase):
    def check(self, document):
        """The tests that the document names, as (suite, name, link)."""
        named = TEST_LINK.findall(text_of(document))
        for suite, name, link in named:
            with self.subTest(document=document, test=f"{suite}.{name}"):
                self.assertIn((suite, name), tests_in((TREE / document).parent / link))
        return named


class NamedTestsTest(PageTestCase):
    def test_failures_page_names_every_fault_suite(self):
        named = self.check("docs/failures.md")
        self.assertGreater(len(named), 110)
        suites = {suite for suite, _, link in named if link.startswith("../tests/fault/")}
        for path in (TREE / "tests" / "fault").glob("*_test.cc"):
            for suite, _ in tests_in(path):
                self.assertIn(suite, suites, f"docs/failures.md has no row of {path.name}'s {suite}")

    def test_security_pages_name_every_stranger_test(self):
        rows = self.check("docs/threat-model.md") + self.check("docs/security.md")
        named = {(suite, name) for suite, name, _ in rows}
        self.assertGreater(len(named), 20)
        for page in ("stranger_test.cc", "lying_launcher_test.cc", "hostile_member_test.cc"):
            for suite, name in tests_in(TREE / "tests" / "server" / "service" / page):
                if suite != "SessionsTest":
                    self.assertIn((suite, name), named, f"docs/threat-model.md does not name {page}'s {suite}.{name}")

    def test_decisions_name_existing_tests(self):
        for page in sorted((TREE / "docs" / "decisions").glob("*.md")):
            self.check(str(page.relative_to(TREE)))


class ProgramsTest(unittest.TestCase):
    """A block below <!-- tests/docs/FILE --> is a part of that file, which is compiled and run."""

    def test_blocks_match_their_files(self):
        shown = 0
        for document in documents():
            text = document.read_text(encoding="utf-8")
            for path, block in re.findall(r"^<!-- (tests/docs/\S+) -->\n```\w*\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
                with self.subTest(document=document.name, file=path):
                    self.assertIn(block, text_of(path))
                    shown += 1
        self.assertGreater(shown, 0)


class HeadersTest(unittest.TestCase):
    """Public headers open with an example, which tests/docs/header_examples.cc compiles."""

    WITHOUT = {"cxx17.h", "data_type.h", "muster.h", "reduce_op.h", "toolkits.h", "version.h"}  # nothing to call, or an index
    ELSEWHERE = {"c.h": "tests/docs/c_header_example.c", "nccl.h": "tests/docs/nccl_header_example.cc",
                 "portable.h": "tests/docs/portable_header_example.cc"}

    def example_of(self, header):
        """The lines of the example, without their indentation."""
        head = re.sub(r"^ \*(?!/)", "//", header.read_text(encoding="utf-8"), flags=re.MULTILINE)
        head = re.split(r"\nnamespace muster|\n#define MUSTER_C_API_VERSION", head)[0]
        block = re.search(r"^//\n((?://   .*\n|//\n(?=//   ))+)", head, re.MULTILINE)
        return [line[2:].strip() for line in block[1].splitlines()] if block else []

    def test_open_with_an_example_that_compiles(self):
        folder = TREE / "client" / "include" / "muster"
        for header in sorted(folder.rglob("*.h")):
            if header.name in self.WITHOUT:
                continue
            with self.subTest(header=header.name):
                example = self.example_of(header)
                self.assertGreater(len(example), 0, "the comment before the namespace has no example")
                source = text_of(self.ELSEWHERE.get(header.name, "tests/docs/header_examples.cc"))
                lines = [line.strip() for line in source.splitlines()]
                found = any(lines[at:at + len(example)] == example for at in range(len(lines)))
                self.assertTrue(found, "the example does not stand there")


class VariablesTest(unittest.TestCase):
    def test_variables_in_code_are_known(self):
        known = set(re.findall(r'"(MUSTER_[A-Z0-9_]+)"', text_of("common/process/known_variables.cc")))
        self.assertGreater(len(known), 50)
        for folder in ("client", "server", "common"):
            for path in sorted((TREE / folder).rglob("*.cc")) + sorted((TREE / folder).rglob("*.h")):
                for name in re.findall(r'"(MUSTER_[A-Z0-9_]*[A-Z0-9])"', path.read_text(encoding="utf-8")):
                    if not name.startswith("MUSTER_TEST_"):
                        self.assertIn(name, known, f"{path.relative_to(TREE)}: not in common/process/known_variables.cc")


class RulesTest(PageTestCase):
    def test_rows_name_a_test_or_a_model(self):
        for page in RULES + DESIGNS:
            rows = [line for line in text_of(page).splitlines() if RULE.match(line)]
            self.assertGreater(len(rows), 10)
            for row in rows:
                with self.subTest(page=page, rule=RULE.match(row)[1]):
                    held_by = row.split(" | ")[-1]
                    self.assertTrue(TEST_LINK.search(held_by) or MUTATION_LINK.search(held_by))

    def test_rules_name_existing_tests(self):
        for page in RULES:
            self.assertGreater(len(self.check(page)), 30)

    def test_pages_name_every_mutation(self):
        named = set()
        for page in RULES + DESIGNS:
            named |= {(model, mutation) for mutation, model in MUTATION_LINK.findall(text_of(page))}
        self.assertGreater(len(named), 20)
        self.assertEqual(named, mutations())
        for model, mutation in named:
            with self.subTest(model=model, mutation=mutation):
                self.assertRegex(text_of(f"tests/model/{model}.pml"), rf"(?m)^#ifn?def {mutation}$")

    def test_pages_are_short_enough_to_read(self):
        for page in ("docs/rules.md", "docs/architecture.md"):
            self.assertLessEqual(len(text_of(page).splitlines()), 200)


class FailuresTest(unittest.TestCase):
    def test_each_row_is_complete(self):
        rows = [line for line in text_of("docs/failures.md").splitlines() if "](../tests/" in line and line[0] == "|"]
        self.assertGreater(len(rows), 60)
        for row in rows:
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]]
            with self.subTest(row=cells[0]):
                self.assertEqual(len(cells), 4)
                self.assertTrue(all(cells))

    def test_no_blank_line_cuts_a_table(self):
        for document in documents():
            text = without_code(document.read_text(encoding="utf-8"))
            for cut in re.finditer(r"^\|.*\n\n(\|.*)\n(?!\|[ :|-]+$)", text, re.MULTILINE):
                self.fail(f"{document.relative_to(TREE)}: a blank line stands before {cut[1][:60]}")


class DecisionsTest(unittest.TestCase):
    def test_have_all_sections_and_are_listed(self):
        index = text_of("docs/decisions/README.md")
        for page in sorted((TREE / "docs" / "decisions").glob("*.md")):
            if page.name == "README.md":
                continue
            with self.subTest(page=page.name):
                self.assertIn(f"]({page.name})", index)
                parts = re.findall(r"^## (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
                self.assertEqual(parts, ["Context", "Decision", "What it costs", "How it is tested"])


class RpcsTest(unittest.TestCase):
    """The steps of CONTRIBUTING.md, "Add an RPC", that no compiler asks for."""

    def setUp(self):
        self.rpcs = re.findall(r"^  rpc (\w+)", text_of("proto/muster/v1/coordinator.proto"), re.MULTILINE)
        self.assertGreater(len(self.rpcs), 15)

    def check(self, place, text):
        for rpc in self.rpcs:
            if (rpc, place) not in EXCEPTIONS:
                with self.subTest(rpc=rpc):
                    self.assertTrue(re.search(rf"(\b|[a-z]){rpc}(\b|Request)", text), f"not in {place}")

    def test_are_explained(self):
        self.check("docs/protocol.md", text_of("docs/protocol.md"))

    def test_are_fuzzed(self):
        self.check("tests/fuzz/fuzzed_service.cc", text_of("tests/fuzz/fuzzed_service.cc"))

    def test_are_refused_to_strangers(self):
        self.check("tests/server/service/stranger_test.cc", text_of("tests/server/service/stranger_test.cc"))

    def test_are_called_in_the_simulation(self):
        files = sorted((TREE / "tests" / "simulation").rglob("*.cc"))
        taking = ("simulated_daemon.cc", "rpc_description.cc")
        self.check("tests/simulation", "".join(f.read_text(encoding="utf-8") for f in files if f.name not in taking))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
