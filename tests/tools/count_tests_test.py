"""Runs tools/count_tests.py on made-up runs: build events that point to sample test.xml files."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

COUNTER = sys.argv.pop(1)

GTEST_XML = """<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="5" failures="1" disabled="1" errors="0" name="AllTests">
  <testsuite name="Core" tests="3" failures="1" disabled="1" skipped="0" errors="0">
    <testcase name="Joins" status="run" result="completed" classname="Core" />
    <testcase name="Leaves" status="run" result="completed" classname="Core">
      <failure message="expected 1"><![CDATA[expected 1]]></failure>
      <failure message="expected 2"><![CDATA[expected 2]]></failure>
    </testcase>
    <testcase name="DISABLED_Later" status="notrun" result="suppressed" classname="Core" />
  </testsuite>
  <testsuite name="Gpu" tests="2" failures="0" disabled="0" skipped="1" errors="0">
    <testcase name="Copies" status="run" result="skipped" classname="Gpu">
      <skipped message="tests/gpu.cc:7&#x0A;no GPU"><![CDATA[tests/gpu.cc:7
no GPU]]></skipped>
    </testcase>
    <testcase name="Counts" status="run" result="completed" classname="Gpu" />
  </testsuite>
</testsuites>
"""

GTEST_ALL_PASS_XML = """<testsuites tests="2" failures="0"><testsuite name="Core" tests="2">
  <testcase name="Joins" status="run" result="completed" classname="Core" />
  <testcase name="Leaves" status="run" result="completed" classname="Core" />
</testsuite></testsuites>
"""

GTEST_ALL_SKIPPED_XML = """<testsuites tests="1" failures="0"><testsuite name="Gpu" tests="1" skipped="1">
  <testcase name="Copies" status="run" result="skipped" classname="Gpu"><skipped message="tests/gpu.cc:8&#x0A;"/></testcase>
</testsuite></testsuites>
"""

SHELL_PASSED_XML = """<testsuites><testsuite name="tests/s" tests="1" failures="0" errors="0">
  <testcase name="tests/s" status="run" duration="0" time="0"></testcase>
  <system-out>Generated test.log</system-out>
</testsuite></testsuites>
"""

SHELL_FAILED_XML = """<testsuites><testsuite name="tests/s" tests="1" failures="0" errors="1">
  <testcase name="tests/s" status="run" duration="0" time="0"><error message="exited with error code 3"></error></testcase>
</testsuite></testsuites>
"""


class Run:
    """One run of `bazel test`, as its events tell it."""

    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        self.events = []

    def built(self, label, success=True):
        completed = {"success": True} if success else {"failureDetail": {"message": "gcc failed"}}
        self.events.append({"id": {"targetCompleted": {"label": label}}, "completed": completed})

    def not_loaded(self, label):
        self.events.append({"id": {"targetCompleted": {"label": label}}, "aborted": {"reason": "ANALYSIS_FAILURE"}})

    def not_for_this_machine(self, label):
        self.events.append({"id": {"targetConfigured": {"label": label}}, "configured": {"testSize": "MEDIUM"}})
        self.events.append({"id": {"targetCompleted": {"label": label}}, "aborted": {"reason": "SKIPPED"}})

    def cut_off(self, label, built=True):
        """The time of the run was over before the test was built, or while it ran."""
        if built:
            self.built(label)
        kind = {"testResult": {"label": label, "run": 1}} if built else {"targetCompleted": {"label": label}}
        self.events.append({"id": {"targetConfigured": {"label": label}}, "configured": {"testSize": "MEDIUM"}})
        self.events.append({"id": kind, "aborted": {"reason": "USER_INTERRUPTED"}})

    def tested(self, label, xml, status="PASSED", shard=1, attempt=1):
        self.built(label)
        path = self.directory / f"logs of {label.strip('/').replace(':', '/')}" / str(shard) / str(attempt) / "test.xml"
        path.parent.mkdir(parents=True)
        if xml is not None:
            path.write_text(xml, encoding="utf-8")
        self.events.append({
            "id": {"testResult": {"label": label, "run": 1, "shard": shard, "attempt": attempt}},
            "testResult": {"status": status, "testActionOutput": [
                {"name": "test.log", "uri": (path.parent / "test.log").as_uri()},
                {"name": "test.xml", "uri": path.as_uri()}]}})

    def write(self, name="events.json"):
        path = self.directory / name
        path.write_text("\n".join(json.dumps(event) for event in self.events), encoding="utf-8")
        self.events = []
        return path

    def count(self, bazel_status=0, *options):
        events, path = self.events, self.write()
        self.events = events
        return run_counter(path, bazel_status, *options)


def run_counter(path, bazel_status, *options):
    """The counter's output lines and exit status."""
    ended = subprocess.run([sys.executable, COUNTER, "--bazel-status", str(bazel_status), *options, str(path)],
                           stdout=subprocess.PIPE, check=False, text=True)
    return ended.stdout.splitlines(), ended.returncode


class CountTestsTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.run_ = Run(directory.name)

    def test_counts_cases_of_gtest_and_whole_scripts(self):
        self.run_.built("//client:muster")
        self.run_.tested("//tests:core", GTEST_ALL_PASS_XML)
        self.run_.tested("//tests:script", SHELL_PASSED_XML)
        self.assertEqual((["3 passed, 0 failed"], 0), self.run_.count())

    def test_names_failed_cases_and_counts_skipped_ones(self):
        self.run_.tested("//tests:core", GTEST_XML, "FAILED")
        self.run_.tested("//tests:script", SHELL_FAILED_XML, "FAILED")
        lines, status = self.run_.count(bazel_status=3)
        self.assertEqual(["SKIPPED //tests:core Core.DISABLED_Later: disabled",
                          "SKIPPED //tests:core Gpu.Copies: no GPU",
                          "FAILED //tests:core Core.Leaves", "FAILED //tests:script tests/s",
                          "2 passed, 2 failed, 2 skipped"], lines)
        self.assertEqual(1, status)

    def test_a_program_that_fails_after_its_cases_passed_is_a_failure(self):
        self.run_.tested("//tests:leaks", GTEST_ALL_PASS_XML, "FAILED")
        self.assertEqual((["FAILED //tests:leaks (FAILED)", "2 passed, 1 failed"], 1), self.run_.count(3))

    def test_a_timeout_without_xml_is_a_failure(self):
        self.run_.tested("//tests:hangs", None, "TIMEOUT")
        self.assertEqual((["FAILED //tests:hangs (TIMEOUT)", "0 passed, 1 failed"], 1), self.run_.count(3))

    def test_truncated_xml_is_a_failure(self):
        self.run_.tested("//tests:crashes", GTEST_ALL_PASS_XML[:60], "FAILED")
        self.assertEqual((["FAILED //tests:crashes (FAILED)", "0 passed, 1 failed"], 1), self.run_.count(3))

    def test_a_target_that_does_not_build_is_a_failure(self):
        self.run_.tested("//tests:core", GTEST_ALL_PASS_XML)
        self.run_.built("//tests:broken", success=False)
        self.run_.not_loaded("//tests:lost")
        lines, status = self.run_.count(bazel_status=1)
        self.assertEqual(["FAILED //tests:broken (was not built)", "FAILED //tests:lost (was not built)",
                          "2 passed, 2 failed"], lines)
        self.assertEqual(1, status)

    def test_shards_add_up_and_the_last_attempt_counts(self):
        self.run_.tested("//tests:core", GTEST_ALL_PASS_XML, shard=1)
        self.run_.tested("//tests:core", GTEST_XML, "FAILED", shard=2, attempt=1)
        self.run_.tested("//tests:core", GTEST_ALL_PASS_XML, shard=2, attempt=2)
        self.assertEqual((["4 passed, 0 failed"], 0), self.run_.count())

    def test_a_run_without_any_executed_case_is_a_failure(self):
        self.run_.built("//client:muster")
        lines, status = self.run_.count()
        self.assertEqual(("0 passed, 1 failed", 1), (lines[-1], status))
        self.run_.tested("//tests:gpu", GTEST_ALL_SKIPPED_XML)
        lines, status = self.run_.count()
        self.assertEqual(("0 passed, 1 failed, 1 skipped", 1), (lines[-1], status))

    def test_error_of_bazel_is_a_failure(self):
        self.run_.tested("//tests:core", GTEST_ALL_PASS_XML)
        self.assertEqual((["FAILED bazel itself, with status 37", "2 passed, 1 failed"], 1), self.run_.count(37))

    def test_required_part_needs_a_passed_case(self):
        self.run_.tested("//tests:core", GTEST_ALL_PASS_XML)
        self.assertEqual((["FAILED nccl: no test case of a target with this in its name passed",
                           "2 passed, 1 failed"], 1), self.run_.count(0, "--require", "nccl"))
        self.run_.tested("//tests/nccl:skips", GTEST_ALL_SKIPPED_XML)
        self.assertEqual(1, self.run_.count(0, "--require", "nccl")[1])
        self.run_.tested("//tests/nccl:runs", GTEST_ALL_PASS_XML)
        lines, status = self.run_.count(0, "--require", "nccl")
        self.assertEqual(("4 passed, 0 failed, 1 skipped", 0), (lines[-1], status))

    def test_skip_is_a_failure_if_not_allowed(self):
        self.run_.tested("//tests:core", GTEST_ALL_PASS_XML)
        self.run_.tested("//tests:gpu", GTEST_ALL_SKIPPED_XML)
        skip = "//tests:gpu Gpu.Copies: no reason given"
        self.assertEqual(([f"SKIPPED {skip}", f"FAILED {skip} (no test may be skipped here)",
                           "2 passed, 1 failed, 1 skipped"], 1), self.run_.count(0, "--fail-on-skip"))
        self.assertEqual(([f"SKIPPED {skip}", "2 passed, 0 failed, 1 skipped"], 0), self.run_.count())

    def test_allowed_skip_is_no_failure(self):
        self.run_.tested("//tests:core", GTEST_ALL_PASS_XML)
        self.run_.tested("//tests:gpu", GTEST_ALL_SKIPPED_XML)
        allowed = ("--fail-on-skip", "--may-skip", "//tests:gpu")
        self.assertEqual((["SKIPPED //tests:gpu Gpu.Copies: no reason given", "2 passed, 0 failed, 1 skipped"], 0),
                         self.run_.count(0, *allowed))
        self.run_.tested("//tests:gpu_too", GTEST_ALL_SKIPPED_XML)
        self.assertEqual(self.run_.count(0, *allowed)[1], 1)

    def test_incompatible_test_is_reported_and_no_failure(self):
        self.run_.tested("//tests:core", GTEST_ALL_PASS_XML)
        self.run_.not_for_this_machine("//tests:nccl")
        self.assertEqual((["NOT FOR THIS MACHINE: 1 tests: //tests:nccl", "2 passed, 0 failed"], 0),
                         self.run_.count(0, "--fail-on-skip"))

    def test_unreached_tests_are_reported_and_no_failure(self):
        self.run_.tested("//tests:core", GTEST_ALL_PASS_XML)
        self.run_.cut_off("//tests:slow")
        self.run_.cut_off("//tests:never", built=False)
        self.assertEqual((["NOT REACHED: 2 tests: //tests:never //tests:slow", "2 passed, 0 failed"], 0),
                         self.run_.count())

    def test_failure_before_an_interruption_counts(self):
        self.run_.tested("//tests:core", GTEST_XML, "FAILED")
        self.run_.cut_off("//tests:slow")
        lines, status = self.run_.count()
        self.assertEqual(("2 passed, 1 failed, 2 skipped", 1), (lines[-1], status))

    def test_unplanned_interruption_is_a_failure(self):
        self.run_.tested("//tests:core", GTEST_ALL_PASS_XML)
        self.run_.cut_off("//tests:slow")
        self.assertEqual(1, self.run_.count(bazel_status=8)[1])

    def test_a_test_of_two_runs_counts_in_both(self):
        self.run_.tested("//tests:core", GTEST_XML, "FAILED")
        plain = self.run_.write("plain.json")
        self.run_.tested("//tests:core", GTEST_ALL_PASS_XML, shard=2)
        lines, status = run_counter(plain, 3, str(self.run_.write("asan.json")))
        self.assertEqual(("4 passed, 1 failed, 2 skipped", 1), (lines[-1], status))

    def test_missing_events_are_a_failure(self):
        lines, status = run_counter(self.run_.directory / "missing.json", 2)
        self.assertEqual(("0 passed, 1 failed", 1), (lines[-1], status))


if __name__ == "__main__":
    unittest.main()
