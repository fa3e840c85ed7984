#!/usr/bin/python3
"""Counts the test cases of `bazel test` runs and says so in one line: "N passed, N failed, N skipped".

Reads each run's build events (--build_event_json_file), which name exactly the targets of that run and
where each one's test.xml is; results of earlier runs do not count. A GoogleTest program counts case by
case, any other test as one case. A target that was not built, crashed or timed out counts as at least
one failure, and so does a run in which nothing was executed. Tests that an interrupted run did not come
to are named in a line of their own; they are no failures unless --bazel-status says that the interruption
is one. So are tests that are not for this machine (target_compatible_with), which count as nothing.
Skipped cases are named with their reasons; with --fail-on-skip they count as failures, but for those of
a target that --may-skip names. Ends with
status 1 if anything failed.
"""

import argparse
import json
import re
import sys
import urllib.parse
import xml.etree.ElementTree


class Counts:
    def __init__(self):
        self.passed = 0
        self.skips = []  # what was skipped and why, in words
        self.failures = []  # what failed, in words
        self.ran = set()  # labels of the targets of which at least one case passed
        self.not_reached = set()  # labels of the tests that an interrupted run did not come to
        self.not_for_here = set()  # labels of the tests that are incompatible with this machine

    def __str__(self):
        skipped = f", {len(self.skips)} skipped" if self.skips else ""
        return f"{self.passed} passed, {len(self.failures)} failed{skipped}"


def read_events(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


INTERRUPTED = "USER_INTERRUPTED"
INCOMPATIBLE = "SKIPPED"


def abort_reason(event):
    return event.get("aborted", {}).get("reason")


def was_interrupted(event):
    return abort_reason(event) == INTERRUPTED


def tests_aborted(events, reason):
    tests = {event["id"]["targetConfigured"]["label"] for event in events
             if "targetConfigured" in event["id"] and "testSize" in event.get("configured", {})}
    for event in events:
        for kind in ("targetCompleted", "testResult"):
            if abort_reason(event) == reason and event["id"].get(kind, {}).get("label") in tests:
                yield event["id"][kind]["label"]


def targets_not_built(events):
    for event in events:
        if "targetCompleted" not in event["id"] or abort_reason(event) in (INTERRUPTED, INCOMPATIBLE):
            continue
        # A target whose dependencies do not even load is "aborted" instead of completed.
        if not event.get("completed", {}).get("success", False):
            yield event["id"]["targetCompleted"]["label"]


def last_attempts(events):
    """The result of each test action; a later attempt replaces an earlier one."""
    results = {}
    for event in events:
        if "testResult" in event["id"] and not was_interrupted(event):
            key = event["id"]["testResult"]
            results[key["label"], key.get("run"), key.get("shard")] = event["testResult"]
    return {(label, run, shard): results[label, run, shard] for label, run, shard in sorted(results)}


def test_cases(result):
    """The cases of a result's test.xml; none if it is missing or not well formed."""
    for output in result.get("testActionOutput", []):
        if output["name"] == "test.xml":
            path = urllib.parse.unquote(urllib.parse.urlparse(output["uri"]).path)
            try:
                return list(xml.etree.ElementTree.parse(path).iter("testcase"))
            except (OSError, xml.etree.ElementTree.ParseError):
                return []
    return []


def case_outcome(case):
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    if case.find("skipped") is not None or case.get("status") == "notrun":
        return "skipped"
    return "passed"


def case_name(case):
    return ".".join(filter(None, [case.get("classname"), case.get("name")]))


def skip_reason(case):
    """What GTEST_SKIP() was given; GoogleTest puts a line with the place in the source before it."""
    skipped = case.find("skipped")
    if skipped is None:
        return "disabled"
    reason = re.sub(r"^\S+:\d+\n", "", skipped.get("message") or "")
    return " ".join(reason.split()) or "no reason given"


def count_result(label, result, counts):
    passed = result.get("status") == "PASSED"
    cases = test_cases(result)
    failed_before = len(counts.failures)
    passed_before = counts.passed
    for case in cases:
        outcome = case_outcome(case)
        if outcome == "failed":
            counts.failures.append(f"{label} {case_name(case)}")
        elif outcome == "skipped":
            counts.skips.append(f"{label} {case_name(case)}: {skip_reason(case)}")
        else:
            counts.passed += 1
    if passed and not cases:
        counts.passed += 1
    # A crash at exit, a time-out: the program failed although none of its cases says so.
    if not passed and len(counts.failures) == failed_before:
        counts.failures.append(f"{label} ({result.get('status', 'no status')})")
    if counts.passed > passed_before:
        counts.ran.add(label)


def count_run(events, counts):
    for label in targets_not_built(events):
        counts.failures.append(f"{label} (was not built)")
    for (label, _, _), result in last_attempts(events).items():
        count_result(label, result, counts)
    counts.not_reached.update(tests_aborted(events, INTERRUPTED))
    counts.not_for_here.update(tests_aborted(events, INCOMPATIBLE))


def count(runs, bazel_status, required_parts=()):
    counts = Counts()
    for events in runs:
        count_run(events, counts)
    if not counts.failures and bazel_status != 0:
        counts.failures.append(f"bazel itself, with status {bazel_status}")
    if not counts.failures and counts.passed == 0:
        counts.failures.append("the run: no test case was executed")
    for part in required_parts:
        if not any(part in label for label in counts.ran):
            counts.failures.append(f"{part}: no test case of a target with this in its name passed")
    return counts


def print_list(title, labels):
    if labels:
        print(f"{title}: {len(labels)} tests: {' '.join(sorted(labels))}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("events", nargs="+", help="file that `bazel test --build_event_json_file` has written")
    parser.add_argument("--bazel-status", type=int, required=True, help="exit status of `bazel test`")
    parser.add_argument("--require", action="append", default=[], metavar="PART",
                        help="fail unless a test case passed in some target whose label has PART in it")
    parser.add_argument("--fail-on-skip", action="store_true", help="a skipped case is a failure")
    parser.add_argument("--may-skip", action="append", default=[], metavar="LABEL",
                        help="but not of this target, which needs what not every machine has")
    args = parser.parse_args()
    runs = []
    for path in args.events:
        try:
            runs.append(read_events(path))
        except (OSError, ValueError) as error:
            print(f"count_tests: {path}: {error}", file=sys.stderr)
            args.bazel_status = args.bazel_status or 1  # nothing is known to have passed
    counts = count(runs, args.bazel_status, args.require)
    for skip in counts.skips:
        print(f"SKIPPED {skip}")
    if args.fail_on_skip:
        counts.failures += [f"{skip} (no test may be skipped here)" for skip in counts.skips
                            if skip.split()[0] not in args.may_skip]
    for failure in counts.failures:
        print(f"FAILED {failure}")
    print_list("NOT FOR THIS MACHINE", counts.not_for_here)
    print_list("NOT REACHED", counts.not_reached)
    print(counts)
    sys.exit(1 if counts.failures else 0)


if __name__ == "__main__":
    main()
