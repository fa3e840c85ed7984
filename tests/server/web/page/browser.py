"""A headless Chromium, and what tests ask of any page in it."""

import json
import os
import pathlib
import sys
import tempfile

from_debian = "tools/install-deps --browser brings it"
CHROMIUM = "/usr/bin/chromium"
CHROMEDRIVER = "/usr/bin/chromedriver"

try:
    from selenium import webdriver
    from selenium.common.exceptions import JavascriptException, StaleElementReferenceException, WebDriverException
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.support.ui import WebDriverWait
except ImportError as error:
    raise SystemExit(f"python3-selenium is missing ({error}): {from_debian}") from error

HERE = pathlib.Path(__file__).parent
# Long, since a busy machine is slow. A correct page is fast enough in the end.
PATIENCE = 120


def start(home=None):
    """A browser of its own, with nothing kept from others. What it keeps itself is in `home`, a new folder."""
    # On a busy machine, the browser may not start within the driver's time-out.
    for _ in range(2):
        try:
            return start_once(home)
        except WebDriverException as error:
            print(f"the browser does not start: {error}", file=sys.stderr)
    return start_once(home)


def start_once(home):
    for program in (CHROMIUM, CHROMEDRIVER):
        if not os.access(program, os.X_OK):
            raise SystemExit(f"{program} is missing: {from_debian}")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    home = home or tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu",
                     "--disable-background-networking", "--no-first-run", f"--user-data-dir={home}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    environment = {**os.environ, "HOME": home}
    browser = webdriver.Chrome(service=Service(CHROMEDRIVER, env=environment), options=options)
    browser.set_script_timeout(PATIENCE)
    return browser


def await_script(browser, script, *arguments):
    """Until the expression is true in the page; returns what it is then. One that fails is not true yet."""
    wait = WebDriverWait(browser, PATIENCE, poll_frequency=0.1, ignored_exceptions=[JavascriptException])
    text = browser.execute_script
    try:
        return wait.until(lambda _: text(f"return ({script})", *arguments))
    except Exception as error:
        raise AssertionError(f"never true: {script}; the page says:\n{text('return document.body.innerText')[:4000]}") from error


def resize(browser, width, height=900):
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600})


def prefer(browser, **features):
    """prefer(browser, color_scheme="dark", reduced_motion="reduce")."""
    named = [{"name": f"prefers-{name.replace('_', '-')}", "value": value} for name, value in features.items()]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": named})


def errors(browser):
    """What the page has written to the console since it was last asked, but for information."""
    return [entry["message"] for entry in browser.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]


def accessibility_problems(browser):
    """A list of texts; empty where nothing is wrong. A page that is drawn again meanwhile is looked at anew."""
    for _ in range(49):
        try:
            return look_for_accessibility_problems(browser)
        except StaleElementReferenceException:
            pass
    return look_for_accessibility_problems(browser)


def look_for_accessibility_problems(browser):
    rules = (HERE / "accessibility.js").read_text(encoding="utf-8")
    found = json.loads(browser.execute_script(f"{rules}; return JSON.stringify(problems());"))
    focusable = "button, input, a[href], [tabindex='0']"
    for node in browser.find_elements("css selector", focusable):
        if node.is_displayed() and not node.accessible_name.strip():
            found.append(f"has no name: {node.get_attribute('outerHTML')[:120]}")
    return found
