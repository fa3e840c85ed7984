"""The status page in a real browser, in front of a stand-in for musterd."""

import sys
import unittest

import browser as browsers
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from stub_daemon import Status, StubDaemon

CELLS = "document.querySelectorAll('[role=gridcell]')"
ACTIVE = "document.activeElement"


class PageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = browsers.start()
        cls.addClassCleanup(cls.browser.quit)

    def setUp(self):
        browsers.resize(self.browser, 1280)
        browsers.prefer(self.browser, color_scheme="light", reduced_motion="no-preference")
        browsers.errors(self.browser)

    def open(self, status, fragment="", **daemon):
        """The page of that job, once it is drawn."""
        self.daemon = StubDaemon(status, **daemon)
        self.addCleanup(lambda: self.daemon.server and self.daemon.stop())
        self.addCleanup(self.browser.get, "about:blank")
        self.browser.get(self.daemon.address + fragment)
        self.until(f"{CELLS}.length === arguments[0] && document.querySelector('[role=gridcell][tabindex]')", len(status.members))

    def until(self, script, *arguments):
        return browsers.await_script(self.browser, script, *arguments)

    def text(self, selector):
        return self.browser.execute_script("return document.querySelector(arguments[0]).textContent", selector)

    def until_text(self, selector, part):
        self.until("document.querySelector(arguments[0])?.textContent.includes(arguments[1])", selector, part)

    def cell(self, rank):
        return self.browser.find_element("css selector", f"[data-member=rank-{rank}]")

    def press(self, *keys):
        for key in keys:
            ActionChains(self.browser).send_keys(key).perform()

    def active(self, script):
        return self.browser.execute_script(f"return document.activeElement.{script}")

    def expect_accessible(self):
        self.assertEqual(browsers.accessibility_problems(self.browser), [])

    def expect_no_errors(self):
        self.assertEqual(browsers.errors(self.browser), [])

    # ---- What it shows ----

    def test_a_stuck_job_of_80_ranks(self):
        status = Status(80)
        status.wait([3, 7, 8, 9, 10])
        status.set_state(3, "stopped")
        self.open(status)
        self.until_text("#waits", "ranks 3, 7-10 of 80")
        self.assertIn("Barrier('step 812') op 812 of the world", self.text("#waits h3"))
        self.assertIn("job train", self.text("h1"))
        self.assertIn("rank 3 on n0: stopped, last completed Barrier('step 811')", self.text("#waits"))
        self.assertEqual(self.cell(3).get_attribute("aria-label"), "rank 3: stopped")
        self.assertEqual(self.cell(3).text, "S3")
        self.assertEqual(self.cell(7).get_attribute("aria-label"), "rank 7: others wait for it")
        self.assertEqual(self.cell(7).text, "!7")
        self.assertEqual(self.cell(0).get_attribute("aria-label"), "rank 0: waiting")
        self.assertRegex(self.text("#waits"), r"\d+ min")
        self.assertFalse(self.browser.find_element("id", "mismatches").is_displayed())
        status.content["verdict"] = {"text": "rank 3 is stopped; 75 others wait", "when": 120_000}
        status.content["disagreements"] = ["group 'tp': rank 1 called Barrier('a'), rank 2 called Barrier('b')"]
        self.daemon.show(status)
        self.until_text("#waits", "rank 3 is stopped; 75 others wait")
        self.until_text("#news", "Verdict: rank 3 is stopped; 75 others wait.")
        self.assertRegex(self.text("#waits h3"), "^Verdict of .* ago$")
        self.assertIn("rank 2 called Barrier('b')", self.text("#waits"))
        self.assertIn("warning", self.text("#timeline"))
        self.expect_accessible()
        self.expect_no_errors()

    def test_a_collective_that_moves_is_no_wait(self):
        status = Status(8)
        status.wait([3], since=10_000_000)
        self.open(status)
        self.until_text("#waits", "1 collective under way")
        self.assertEqual(self.cell(3).get_attribute("data-look"), "running")

    def test_of_many_that_are_missing_those_that_do_not_run_are_named_first(self):
        status = Status(80)
        status.wait(range(20, 70))
        status.set_state(66, "stopped")
        status.members[20][7] = status.text("Gather() op 3 of group 'tp'")
        self.open(status)
        self.until_text("#waits", "ranks 20-69 of 80")
        lines = self.browser.find_elements("css selector", "#waits li")
        self.assertIn("rank 66 on n8: stopped", lines[0].text)
        self.assertEqual([line.text.split(" on ")[0] for line in lines[1:6]], [f"rank {rank}" for rank in range(21, 26)])
        self.assertEqual(lines[6].text, "and 44 more")
        self.expect_accessible()

    def test_waits_in_the_store(self):
        status = Status(8)
        status.content["storeWaits"] = [{"what": "key 'port' has not been set", "ranks": [[3, 3], [5, 5]], "launchers": ["n1"], "others": 1, "since": 1000}]
        self.open(status)
        self.until_text("#waits", "key 'port' has not been set")
        self.assertIn("ranks 3, 5 and the launcher of n1 and 1 process without a rank", self.text("#waits"))
        self.expect_accessible()
        self.expect_no_errors()

    def test_losses_late_ranks_and_leases(self):
        status = Status(16)
        status.lose(5)
        status.content["state"], status.content["reason"] = "failed", "rank 5 was lost"
        status.content["late"] = [{"rank": 5, "node": "n0", "operation": "Barrier('step #') of the world", "collectives": 4000, "last": 3320,
                                   "median": 120.0, "p95": 310.0, "waited": 38_000.0}]
        status.content["oddities"] = ["rank 9 has NCCL 2.27.3, the other 15 have 2.28.9"]
        lease = "lease 'unpack' of node 'n0'"
        status.content["leases"] = [{"title": lease, "holder": "rank 2 (node 'n0')", "holderRank": 2, "waiters": 1, "since": 4000}]
        status.members[6][7], status.members[6][8] = status.text(lease), 5000
        self.open(status, "#rank-5")
        self.until_text("#state", "failed")
        self.assertIn("killed by signal 9", self.text("#losses"))
        self.assertIn("83 % of 4,000", self.text("#late"))
        self.assertIn("NCCL 2.27.3", self.text("#mismatches"))
        self.assertIn("1 call: rank 6", self.text("#leases"))
        self.assertIn("last in 83 % of 4,000 calls", self.text("#detail"))
        self.assertIn("killed by signal 9", self.text("#detail"))
        self.browser.find_element("css selector", "#leases button.rank").click()
        self.until_text("#detail h3", "Rank 2")
        self.expect_accessible()
        self.expect_no_errors()

    def test_a_job_that_forms_has_processes_without_ranks(self):
        status = Status(3)
        status.content.update(state="forming", reason="3 of 8 members have joined", epoch=None, world=8)
        for row in status.members:
            row[0] = None
        self.open(status)
        self.until_text("#facts", "none yet")
        self.assertIn("process 1000", self.browser.find_element("css selector", "[role=gridcell]").get_attribute("aria-label"))
        self.browser.find_element("css selector", "[role=gridcell]").click()
        self.until_text("#detail h3", "Process 1000")
        self.expect_accessible()
        self.expect_no_errors()

    def test_markup_in_names_is_shown_and_not_run(self):
        evil = "<img src=x onerror=\"window.hacked=1\"><script>window.hacked=2</script>"
        status = Status(8, job=evil, node=evil + "{}")
        status.wait([3], title=f"Barrier('{evil}') op 1 of the world")
        status.lose(3, cause=evil)
        status.content["reason"] = evil
        status.content["late"] = [{"rank": 3, "node": evil, "operation": evil, "collectives": 1, "last": 1, "median": 1, "p95": 1, "waited": 1}]
        status.content["leases"] = [{"title": evil, "holder": evil, "holderRank": None, "waiters": 1, "since": 4000}]
        status.content["timeline"].append([1000, 2, evil])
        status.content["oddities"] = status.content["disagreements"] = [evil]
        status.content["storeWaits"] = [{"what": evil, "ranks": [[3, 3]], "launchers": [evil], "others": 0, "since": 1000}]
        status.content["verdict"] = {"text": evil, "when": 1000}
        self.open(status, "#rank-3")
        self.until_text("#detail", "<img src=x")
        for part in ("h1", "#reason", "#waits", "#late", "#leases", "#losses", "#timeline", "#mismatches", "[role=rowheader]"):
            self.assertIn("<img src=x", self.text(part))
        self.assertEqual(self.browser.execute_script("return [typeof window.hacked, document.images.length, document.scripts.length]"),
                         ["undefined", 0, 1])
        self.expect_no_errors()

    def test_an_address_that_names_nobody_is_passed_by(self):
        for fragment in ("#rank-%zz", "#process-%", "#rank-%E0%A4", "#rank-9000"):
            with self.subTest(fragment):
                self.open(Status(4), fragment)
                self.until_text("#state", "running")
                self.expect_no_errors()
                self.browser.get("about:blank")
        self.open(Status(4), "#rank-2")
        self.until_text("#detail h3", "Rank 2")
        self.browser.execute_script("location.hash = '#rank-%zz'")
        self.browser.execute_script("location.hash = '#rank-3'")
        self.until_text("#detail h3", "Rank 3")
        self.expect_no_errors()

    # ---- How it stays true ----

    def test_follows_the_job_and_asks_for_changes_only(self):
        status = Status(16)
        self.open(status)
        asked = self.daemon.asked
        unchanged = "performance.getEntriesByName('muster-refresh').filter(e => !e.detail.changed).length"
        seen = self.browser.execute_script(f"return {unchanged}")
        self.until(f"{unchanged} > arguments[0]", seen + 2)
        self.assertGreater(self.daemon.asked, asked)
        self.assertEqual(self.daemon.sent, 1)
        status.lose(9)
        status.content["state"], status.content["reason"] = "failed", "rank 9 was lost"
        self.daemon.show(status)
        self.until_text("#state", "failed")
        self.until_text("#news", "The job is failed: rank 9 was lost.")
        self.until("document.querySelector('[data-member=rank-9]').dataset.look === 'lost'")
        self.assertIn("failed", self.browser.title)
        self.assertEqual(self.daemon.sent, 2)
        self.expect_no_errors()

    def test_a_wait_that_lasts_is_told_to_screen_readers(self):
        status = Status(8)
        status.wait([3], since=247_000)
        self.open(status, step=0)
        self.assertEqual(self.text("#news"), "")
        self.daemon.step = 1000
        self.until_text("#news", "Barrier('step 812') op 812 of the world misses rank 3.")
        self.assertEqual(self.daemon.sent, 1)

    def test_times_go_on_while_the_status_stays_the_same(self):
        status = Status(8)
        status.wait([3])
        self.open(status)
        self.until("/\\d+ min/.test(document.querySelector('#waits').textContent)")
        before = self.text("#waits .duration")
        self.until("document.querySelector('#waits .duration').textContent !== arguments[0]", before)
        self.assertEqual(self.daemon.sent, 1)

    def test_the_daemon_goes_and_comes_back(self):
        status = Status(16)
        self.open(status)
        self.daemon.stop()
        self.until("!document.getElementById('trouble').hidden")
        self.assertRegex(self.text("#trouble"), "musterd has not answered since .*keeps asking")
        self.assertIn("does not answer any more", self.text("#news"))
        self.expect_accessible()
        status.set_state(2, "stopped")
        self.daemon.show(status)
        self.daemon.start()
        self.until("document.getElementById('trouble').hidden")
        self.until("document.querySelector('[data-member=rank-2]').dataset.look === 'stopped'")
        self.assertIn("answers again", self.text("#news"))
        refused = [error for error in browsers.errors(self.browser) if "ERR_CONNECTION_REFUSED" not in error and "ERR_EMPTY" not in error]
        self.assertEqual([error for error in refused if "ERR_CONNECTION_RESET" not in error], [])

    def test_a_daemon_that_goes_with_its_job_is_no_alarm(self):
        status = Status(16)
        status.content["state"], status.content["reason"] = "finished", "every member has left"
        self.open(status)
        self.daemon.stop()
        self.until("!document.getElementById('trouble').hidden")
        self.assertIn("The job is finished", self.text("#trouble"))
        self.assertFalse(self.browser.execute_script("return document.body.classList.contains('stale')"))
        self.expect_accessible()
        browsers.errors(self.browser)

    def test_nodes_come_and_go(self):
        self.open(Status(32))
        status = Status(24, node="m{}")
        self.daemon.show(status)
        self.until("[...document.querySelectorAll('[role=rowheader]')].map(h => h.textContent).join() === 'm0,m1,m2'")
        self.assertEqual(self.browser.execute_script(f"return {CELLS}.length"), 24)
        self.expect_accessible()

    def test_nodes_go_by_their_names(self):
        node = "vm/58b986b6-87fa-4517-80b6-85a31b2c8f77"
        status = Status(8, node=node)
        status.content["nodeNames"] = {node: "vm"}
        status.lose(5)
        self.open(status)
        header = "document.querySelector('[role=rowheader]')"
        self.until(f"{header}?.textContent === 'vm'")
        self.assertEqual(self.browser.execute_script(f"return {header}.title"), node)
        self.assertIn("vm, process 1005 on host0", self.text("#losses"))
        self.expect_no_errors()

    # ---- How it is used ----

    def until_shown(self, *members):
        """Until the grid, which is drawn in slices, shows these."""
        shown = "[...document.querySelectorAll('[role=gridcell]')].filter(c => c.checkVisibility()).map(c => c.dataset.member).join()"
        self.until(f"{shown} === arguments[0]", ",".join(members))

    def test_search_and_legend(self):
        status = Status(80)
        status.set_state(11, "stopped")
        self.open(status)
        box = self.browser.find_element("id", "filter")
        for text, shown in (("3, 78-99", ["rank-3", "rank-78", "rank-79"]), ("n9", [f"rank-{r}" for r in range(72, 80)]),
                            ("stopped", ["rank-11"]), ("nothing", [])):
            box.clear()
            box.send_keys(text)
            self.until("document.getElementById('found').textContent.startsWith(arguments[0] + ' of 80')", str(len(shown)))
            self.until_shown(*shown)
        box.clear()
        box.send_keys(" ")
        self.browser.find_element("css selector", "[data-toggle=running]").click()
        self.until("document.querySelector('[data-toggle=running]').getAttribute('aria-pressed') === 'false'")
        self.until_shown("rank-11")
        self.expect_accessible()
        self.expect_no_errors()

    def test_by_keyboard_alone(self):
        status = Status(24)
        status.wait([3])
        self.open(status)
        self.browser.execute_script("document.body.focus()")
        self.press(Keys.TAB)
        self.assertEqual(self.active("className"), "skip")
        self.press(Keys.ENTER)
        self.until(f"{ACTIVE}.id === 'ranks-heading'")
        for _ in range(20):
            self.press(Keys.TAB)
            if self.active("getAttribute('role')") == "gridcell":
                break
        self.assertEqual(self.active("dataset.member"), "rank-0")
        for key, rank in ((Keys.ARROW_RIGHT, 1), (Keys.ARROW_DOWN, 9), (Keys.END, 15), (Keys.ARROW_RIGHT, 16), (Keys.ARROW_LEFT, 15),
                          (Keys.HOME, 8), (Keys.ARROW_UP, 0), (Keys.PAGE_DOWN, 16), (Keys.PAGE_UP, 0), (Keys.ARROW_UP, 0)):
            self.press(key)
            self.assertEqual(self.active("dataset.member"), f"rank-{rank}", key)
        self.press(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.ENTER)
        self.until(f"{ACTIVE}.id === 'detail-heading'")
        self.assertEqual(self.active("textContent"), "Rank 2")
        self.until_text("#detail", "rank 3")
        # A refresh leaves the focus where it is.
        self.daemon.show(status)
        self.until("performance.getEntriesByName('muster-refresh').filter(e => e.detail.changed).length > 1")
        self.assertEqual(self.active("id"), "detail-heading")
        self.press(Keys.ESCAPE)
        self.until(f"{ACTIVE}.dataset.member === 'rank-2'")
        self.assertFalse(self.browser.find_element("id", "detail").is_displayed())
        self.expect_no_errors()

    def test_on_a_phone_in_the_dark_and_without_motion(self):
        status = Status(80)
        status.wait([3])
        for rank, state in enumerate(("attached", "joining", "running", "detached", "leaving", "left", "lost", "stopped", "awaited")):
            status.set_state(rank, state)
        status.lose(6)
        status.content["late"] = [{"rank": 3, "node": "n0", "operation": "Barrier() of the world", "collectives": 40, "last": 33,
                                   "median": 120.0, "p95": 310.0, "waited": 38_000.0}]
        for width, scheme in ((360, "dark"), (360, "light"), (1280, "dark")):
            browsers.resize(self.browser, width)
            browsers.prefer(self.browser, color_scheme=scheme, reduced_motion="reduce")
            with self.subTest(width=width, scheme=scheme):
                self.open(status, "#rank-3")
                self.until_text("#detail h3", "Rank 3")
                self.expect_accessible()
                self.assertEqual(self.browser.execute_script("return getComputedStyle(arguments[0]).transitionDuration", self.cell(3)), "0s")
                # Nothing extends beyond the edge, not even the cause of a loss.
                wide = "[...document.querySelectorAll('table, #grid, .strip')].filter(e => e.getBoundingClientRect().right > innerWidth)"
                self.assertEqual(self.browser.execute_script(f"return {wide}.map(e => e.outerHTML.slice(0, 80))"), [])
                label = "getComputedStyle(document.querySelector('#losses td:nth-child(3)'), '::before').content"
                self.assertEqual(self.browser.execute_script(f"return {label}"), '"Why"' if width == 360 else "none")
        self.expect_no_errors()

    def test_10000_ranks(self):
        status = Status(10_000)
        status.wait([3, 7777])
        self.open(status)
        self.until_text("#waits", "ranks 3, 7777 of 10000")
        self.assertIn("10,000 processes on 1,250 nodes", self.text("#ranks-heading"))
        # On a phone, the content below the ranks can be reached too.
        browsers.resize(self.browser, 360)
        self.assertLess(self.browser.execute_script("return document.getElementById('grid').clientHeight"), 900)
        browsers.resize(self.browser, 1280)
        status.lose(9999)
        self.daemon.show(status)
        self.until("document.querySelector('[data-member=rank-9999]').dataset.look === 'lost'")
        box = self.browser.find_element("id", "filter")
        box.send_keys("7777")
        self.until("document.getElementById('found').textContent.startsWith('1 of 10,000')")
        self.until("[...document.querySelectorAll('.node')].filter(n => !n.hidden).length === 1")
        self.until_shown("rank-7777")
        self.cell(7777).click()
        self.until_text("#detail h3", "Rank 7777")
        self.expect_accessible()
        self.expect_no_errors()
        took = self.browser.execute_script("return performance.getEntriesByName('muster-refresh').map(e => Math.round(e.duration))")
        print(f"10,000 ranks: a refresh took the page {took} ms", file=sys.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
