"""Opens a trace in Perfetto, in a headless Chromium, with all of its tracks, and takes a picture."""

import argparse
import functools
import http.server
import os
import pathlib
import shutil
import sys
import tempfile
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests/server/web/page"))
import browser as browsers  # the one of the status page's tests

WIDTH = 1300
HEIGHT = 560
EXPAND_ALL = "document.querySelector('button[title=\"Expand all\"]')"
TRACKS = ["musterd", "rank 0", "rank 2"]
# The drawing appears some frames after the write.
AWAIT_FRAMES = """const done = arguments[0]; let frames = 120;
const next = () => frames-- > 0 ? requestAnimationFrame(next) : done(); next();"""


class Pages(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def serve(folder):
    """The server's port, which is its own thread's until the program ends."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Pages, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


def show(browser, port):
    browser.get(f"http://127.0.0.1:{port}/#!/viewer?url=http://127.0.0.1:{port}/trace.json&hideSidebar=true")
    browsers.await_script(browser, EXPAND_ALL).click()
    for track in TRACKS:
        browsers.await_script(browser, "document.body.innerText.includes(arguments[0])", track)
    browser.execute_async_script(AWAIT_FRAMES)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", required=True, help="Perfetto's")
    parser.add_argument("--trace", required=True)
    parser.add_argument("--out", required=True)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        folder = pathlib.Path(work) / "pages"
        shutil.copytree(arguments.pages, folder, copy_function=os.symlink)
        shutil.copy(arguments.trace, folder / "trace.json")
        browser = browsers.start(home=str(pathlib.Path(work) / "home"))
        try:
            browser.set_script_timeout(browsers.PATIENCE)
            browsers.resize(browser, WIDTH, HEIGHT)
            show(browser, serve(folder))
            browser.save_screenshot(arguments.out)
        finally:
            browser.quit()


if __name__ == "__main__":
    main()
