"""The status page of a real musterd, with real ranks, of which one is stopped and then killed."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

import browser as browsers

MUSTERD, MUSTER, RANK = "server/musterd", "client/cli/muster", "tests/rank/rank"
STUCK = 3


def await_port(file):
    end = time.monotonic() + browsers.PATIENCE
    while time.monotonic() < end:
        if file.exists() and file.read_text():
            return int(file.read_text())
        time.sleep(0.02)
    raise AssertionError(f"{file} was not written")


class RealJobTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = browsers.start()
        cls.addClassCleanup(cls.browser.quit)

    def setUp(self):
        browsers.resize(self.browser, 1280)
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR")))
        self.gate = self.folder / "gate"
        # The test turns off pings, which would end the stopped process, and verdicts, which come if
        # the machine is slow. The long grace lets the launcher report how a rank has ended.
        self.musterd = self.start(MUSTERD, "--listen=127.0.0.1:0", "--job=train", "--world-size=8", "--keepalive-timeout=0s",
                                  "--stall-warning=0s", "--member-grace=60s",
                                  "--metrics-listen=:0", f"--port-file={self.folder}/port", f"--metrics-port-file={self.folder}/page")
        self.port = await_port(self.folder / "port")
        self.page = f"http://127.0.0.1:{await_port(self.folder / 'page')}/"
        self.addCleanup(self.browser.get, "about:blank")

    def start(self, *command):
        process = subprocess.Popen(command)
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
        return process

    def start_node(self, node):
        self.start(MUSTER, "run", f"--coordinator=127.0.0.1:{self.port}", "--job=train", "--nnodes=2", f"--node-rank={node}",
                   f"--node-id=node{node}", "--nproc-per-node=4", "--", RANK, "barrier", f"{STUCK}:wait={self.gate}", "barrier")

    def until(self, script, *arguments):
        return browsers.await_script(self.browser, script, *arguments)

    def until_text(self, selector, part):
        self.until("document.querySelector(arguments[0])?.textContent.includes(arguments[1])", selector, part)

    def pid_of(self, rank):
        with urllib.request.urlopen(self.page + "api/status") as answer:
            return next(row[5] for row in json.load(answer)["members"] if row[0] == rank)

    def test_from_the_first_rank_to_the_end_of_the_daemon(self):
        self.browser.get(self.page)
        self.until_text("#state", "forming")
        self.start_node(0)
        self.until_text("#reason", "4 of 8")
        self.start_node(1)
        self.until_text("#state", "running")
        self.until_text("#waits", f"rank {STUCK} of 8")
        self.until("document.querySelector('[data-member=rank-0]').dataset.look === 'waiting'")
        self.until(f"document.querySelector('[data-member=rank-{STUCK}]').dataset.look === 'missed'")
        self.until_text("#waits", "Barrier('in a barrier')")

        stuck = self.pid_of(STUCK)
        os.kill(stuck, signal.SIGSTOP)
        self.until(f"document.querySelector('[data-member=rank-{STUCK}]').dataset.look === 'stopped'")
        self.browser.find_element("css selector", f"[data-member=rank-{STUCK}]").click()
        self.until_text("#detail", "Holds up")
        self.until_text("#timeline", "is stopped (SIGSTOP)")
        self.assertEqual(browsers.accessibility_problems(self.browser), [])

        os.kill(stuck, signal.SIGKILL)
        self.until_text("#state", "failed")
        self.until_text("#losses", "killed by signal 9")
        self.until_text("#detail", "killed by signal 9")
        self.until_text("#timeline", "the job has failed")
        self.until(f"document.querySelector('[data-member=rank-{STUCK}]').dataset.look === 'lost'")
        self.assertEqual(browsers.accessibility_problems(self.browser), [])
        self.assertEqual(browsers.errors(self.browser), [])

        self.musterd.terminate()
        self.until_text("#trouble", "musterd has not answered since")
        self.assertIn("failed", self.browser.find_element("id", "state").text)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
