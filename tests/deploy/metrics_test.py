"""What musterd serves to Prometheus, and what deploy/prometheus and deploy/grafana make of it.

promtool judges the metrics, the rules and the dashboard's queries. Every metric that these name is one that a
real musterd serves.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest
import urllib.request

import yaml

from cases import run_tests

MISSING = "promtool is not installed: tools/install-deps --prometheus brings it"
PROMTOOL = pathlib.Path(os.environ["TEST_SRCDIR"]) / "prometheus_tools" / "installed" / "promtool"
RULES = pathlib.Path("deploy/prometheus/alerts.yaml")
DASHBOARD = pathlib.Path("deploy/grafana/muster.json")
DOCUMENT = pathlib.Path("docs/observe-reference.md")

_METRIC = re.compile(r"\b(?:muster|process)_[a-z0-9_]+\b")
_SUFFIX = re.compile(r"_(?:bucket|count|sum)$")


def promtool(*arguments, text=None, folder=None):
    """(status, output)"""
    run = subprocess.run([PROMTOOL.resolve(), *arguments], input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         text=True, cwd=folder, check=False)
    return run.returncode, run.stdout


def metrics_in(text):
    return set(_METRIC.findall(text))


class Scrape:
    """The text that a musterd serves after a job of two ranks."""

    def __init__(self):
        self._folder = tempfile.TemporaryDirectory()
        ports = [pathlib.Path(self._folder.name) / name for name in ("port", "metrics-port")]
        # musterd writes the port files once both ports are open.
        self._musterd = subprocess.Popen([
            os.environ["MUSTERD"], "--listen=127.0.0.1:0", f"--port-file={ports[0]}", "--metrics-listen=:0",
            f"--metrics-port-file={ports[1]}", "--world-size=2"], stderr=subprocess.PIPE, text=True)
        for line in self._musterd.stderr:
            if "world size" in line:
                break
        address, self._port = [f"127.0.0.1:{path.read_text(encoding='utf-8').strip()}" for path in ports]
        subprocess.run([os.environ["MUSTER"], "run", f"--coordinator={address}", "--nproc-per-node=2", "--",
                        os.environ["RANK"], "1:paced=10ms", "0:paced=0s", "leave"], check=True)

    def text(self):
        with urllib.request.urlopen(f"http://{self._port}/metrics", timeout=60) as answer:
            return answer.read().decode()

    def close(self):
        self._musterd.kill()
        self._musterd.communicate()
        self._folder.cleanup()


class MetricsTestCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scrape = Scrape()
        cls.addClassCleanup(cls.scrape.close)
        cls.text = cls.scrape.text()
        cls.types = dict(re.findall(r"^# TYPE (\S+) (\S+)$", cls.text, re.MULTILINE))

    def assert_served(self, names, where):
        histograms = {name + suffix for name, kind in self.types.items() if kind == "histogram"
                      for suffix in ("_bucket", "_count", "_sum")}
        self.assertEqual(names - set(self.types) - histograms, set(), where)


class ServedTest(MetricsTestCase):
    def test_promtool_accepts_the_metrics(self):
        status, output = promtool("check", "metrics", text=self.text)
        self.assertEqual((status, output.strip()), (0, ""))

    def test_promtool_rejects_a_bad_metric(self):
        status, _ = promtool("check", "metrics", text=self.text.replace("muster_epochs_formed_total", "epochsFormed"))
        self.assertNotEqual(status, 0)

    def test_each_help_text_is_a_sentence(self):
        for name, text in re.findall(r"^# HELP (\S+) (.*)$", self.text, re.MULTILINE):
            self.assertRegex(text, r"^[A-Z0-9].*[.]$", name)

    def test_each_is_documented(self):
        rows = set()
        for line in DOCUMENT.read_text(encoding="utf-8").splitlines():
            if line.startswith("|"):
                rows |= metrics_in(line.split("|")[1])
        self.assertEqual({_SUFFIX.sub("", name) for name in rows}, set(self.types))

    def test_histogram_has_a_series_for_each_call(self):
        self.assertRegex(self.text, r'muster_collective_wait_seconds_count\{kind="barrier",group="",label="step #"\} 20')


class RulesTest(MetricsTestCase):
    def setUp(self):
        self.rules = yaml.safe_load(RULES.read_text(encoding="utf-8"))
        self.alerts = [rule for group in self.rules["groups"] for rule in group["rules"]]

    def test_promtool_accepts_the_rules(self):
        status, output = promtool("check", "rules", str(RULES.resolve()))
        self.assertEqual(status, 0, output)

    def test_each_fires_only_when_it_should(self):
        with tempfile.TemporaryDirectory() as folder:
            tests = pathlib.Path("tests/deploy/alerts_test.yaml")
            for path in (RULES, tests):
                shutil.copyfile(path, pathlib.Path(folder) / path.name)
            status, output = promtool("test", "rules", tests.name, folder=folder)
            self.assertEqual(status, 0, output)
            tested = [case for test in yaml.safe_load(tests.read_text(encoding="utf-8"))["tests"]
                      for case in test["alert_rule_test"]]
        for fires in (True, False):
            self.assertEqual({alert["alert"] for alert in self.alerts},
                             {case["alertname"] for case in tested if bool(case["exp_alerts"]) == fires})

    def test_each_has_a_severity_and_a_remedy(self):
        for alert in self.alerts:
            self.assertIn(alert["labels"]["severity"], ("critical", "warning"), alert["alert"])
            self.assertEqual({"summary", "description"}, set(alert["annotations"]), alert["alert"])

    def test_each_names_the_job(self):
        for alert in self.alerts:
            self.assertIn("$labels.job_id", alert["annotations"]["summary"], alert["alert"])

    def test_queried_metrics_are_served(self):
        for alert in self.alerts:
            self.assertTrue(metrics_in(alert["expr"]), alert["alert"])
            self.assert_served(metrics_in(alert["expr"]), alert["alert"])


class DashboardTest(MetricsTestCase):
    def setUp(self):
        self.dashboard = json.loads(DASHBOARD.read_text(encoding="utf-8"))
        self.panels = [panel for panel in self.dashboard["panels"] if panel["type"] != "row"]
        self.queries = [(panel["title"], target) for panel in self.panels for target in panel["targets"]]

    def test_has_the_fields_that_grafana_needs(self):
        for field in ("title", "uid", "schemaVersion", "panels", "templating", "time"):
            self.assertIn(field, self.dashboard)
        self.assertEqual([variable["name"] for variable in self.dashboard["templating"]["list"]], ["source", "job_id", "instance"])
        ids = [panel["id"] for panel in self.dashboard["panels"]]
        self.assertEqual(len(ids), len(set(ids)))

    def test_every_panel_has_a_description_and_the_chosen_source(self):
        for panel in self.panels:
            self.assertTrue(panel["title"] and panel["description"], panel)
            for place in [panel, *panel["targets"]]:
                self.assertEqual(place["datasource"], {"type": "prometheus", "uid": "${source}"}, panel["title"])
            letters = [target["refId"] for target in panel["targets"]]
            self.assertEqual(len(letters), len(set(letters)), panel["title"])

    def test_choosing_a_job_filters_coordinators(self):
        job, instance = self.dashboard["templating"]["list"][1:]
        self.assertIn("muster_job_info, job_id", job["query"]["query"])
        self.assertIn('job_id=~"$job_id"', instance["query"]["query"])
        self.assertNotIn("allValue", instance, "it would be those of all jobs")

    def expect_values(self, title, series, samples):
        """What the panel's query comes to."""
        (query,) = [query["expr"].replace("$instance", ".*") for panel, query in self.queries if panel == title]
        test = {"evaluation_interval": "1m", "tests": [{
            "interval": "1m", "input_series": [{"series": name, "values": str(value)} for name, value in series.items()],
            "promql_expr_test": [{"expr": query, "eval_time": "0m", "exp_samples": [
                {"labels": labels, "value": value} for labels, value in samples.items()]}]}]}
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            yaml.safe_dump(test, file)
            file.flush()
            status, output = promtool("test", "rules", file.name)
        self.assertEqual(status, 0, output)

    def test_states_belong_to_jobs(self):
        self.expect_values("State", {
            'muster_job_info{instance="a:9100", job_id="train", elastic="true"}': 1,
            'muster_job_info{instance="b:9100", job_id="finetune", elastic="false"}': 1,
            'muster_job_state{instance="a:9100", state="running"}': 1,
            'muster_job_state{instance="b:9100", state="running"}': 0,
            'muster_job_state{instance="b:9100", state="failed"}': 1,
        }, {'{instance="a:9100", job_id="train", state="running"}': 1, '{instance="b:9100", job_id="finetune", state="failed"}': 1})

    def test_worst_rank_caused_the_longest_wait(self):
        often = 'instance="a:9100", rank="1", node="n0", operation="Barrier() of the world"'
        long = 'instance="a:9100", rank="2", node="n1", operation="Gather() of the world"'
        self.expect_values("Worst rank", {
            'muster_job_info{instance="a:9100", job_id="train", elastic="false"}': 1,
            f"muster_straggler_last_ratio{{{often}}}": 1, f"muster_straggler_waited_seconds{{{often}}}": 2,
            f"muster_straggler_last_ratio{{{long}}}": 0.75, f"muster_straggler_waited_seconds{{{long}}}": 300,
        }, {f'{{{long}, job_id="train"}}': 0.75})

    def test_panels_do_not_overlap(self):
        taken = {}
        for panel in self.dashboard["panels"]:
            at = panel["gridPos"]
            self.assertLessEqual(at["x"] + at["w"], 24, panel["title"])
            for cell in [(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])]:
                self.assertNotIn(cell, taken, f"{panel['title']} and {taken.get(cell)}")
                taken[cell] = panel["title"]

    def test_prometheus_understands_every_query(self):
        rules = []
        for _, query in self.queries:
            for variable, value in (("$__rate_interval", "5m"), ("$__range", "1h"), ("$instance", ".*"), ("$job_id", ".*")):
                query["expr"] = query["expr"].replace(variable, value)
            rules.append({"record": f"query:{len(rules)}", "expr": query["expr"]})
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]}, file)
            file.flush()
            status, output = promtool("check", "rules", file.name)
        self.assertEqual(status, 0, output)
        self.assertNotIn("$", "".join(rule["expr"] for rule in rules))

    def test_queried_metrics_are_served(self):
        for title, query in self.queries:
            self.assertTrue(metrics_in(query["expr"]), title)
            self.assert_served(metrics_in(query["expr"]), title)

    def test_every_metric_of_the_job_is_shown(self):
        shown = {_SUFFIX.sub("", name) for _, query in self.queries for name in metrics_in(query["expr"])}
        of_job = {name for name in self.types if name.startswith("muster_")}
        self.assertEqual(of_job - shown, {
            # Only of use to programs.
            "muster_epoch_number",
            # Only of elastic jobs, or shown better by status and log.
            "muster_newcomers_waiting", "muster_stop_requested"})


if __name__ == "__main__":
    run_tests(PROMTOOL if PROMTOOL.exists() else None, MISSING)
