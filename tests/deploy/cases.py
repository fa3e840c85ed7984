"""Runs unittest's tests and writes each as a case to the file that Bazel names, as GoogleTest does."""

import os
import sys
import unittest
from xml.sax.saxutils import quoteattr

MISSING = "kubectl and kubernetes-validate are not installed: tools/install-deps --kubernetes brings them"


class _Result(unittest.TextTestResult):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.names = []

    def startTest(self, test):
        super().startTest(test)
        self.names.append(test.id())


def _write(cases):
    path = os.environ.get("XML_OUTPUT_FILE")
    if path:
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>\n")


def _case(name, inside=""):
    return f"<testcase name={quoteattr(name)}>{inside}</testcase>"


def run_tests(tools, missing=MISSING):
    if tools is None:
        print(missing)
        _write([_case("all", f"<skipped message={quoteattr(missing)}/>")])
        return
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])
    result = unittest.TextTestRunner(resultclass=_Result).run(suite)
    # A failed subTest fails its test.
    failed = {getattr(test, "test_case", test).id() for test, _ in result.failures + result.errors}
    _write([_case(name, "<failure/>" if name in failed else "") for name in result.names])
    sys.exit(0 if result.wasSuccessful() and result.testsRun > 0 else 1)
