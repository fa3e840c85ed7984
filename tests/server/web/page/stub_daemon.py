"""Serves the page and a made-up status, as musterd would; it can go away and come back."""

import http.server
import json
import mimetypes
import pathlib
import threading
import time
import urllib.parse

PAGE = pathlib.Path("server/web/page")
STATES = ["attached", "joining", "running", "detached", "leaving", "left", "lost", "stopped", "awaited"]
POLICY = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"


class Status:
    """A job whose ranks are on nodes of eight: `status.content` is what musterd sends."""

    def __init__(self, ranks, job="train", node="n{}"):
        self.texts = []
        nothing, story = self.text(""), self.text("last completed Barrier('step 811') op 811 of the world")
        # Rank, node, local rank, state, host, process, last collective, waits in, since, last call, story, since, goes on.
        self.members = [[rank, self.text(node.format(rank // 8)), rank % 8, STATES.index("running"), self.text(f"host{rank // 8}"),
                         1000 + rank, story, nothing, None, 1000, story, 1000, 0] for rank in range(ranks)]
        self.content = {
            "job": job, "daemon": "0.1.0", "state": "running", "reason": f"all {ranks} members have joined", "world": ranks,
            "least": 0, "most": 0, "newcomers": 0, "stop": False, "refused": 0, "epoch": "1763848000000000", "states": STATES,
            "started": 1763848000000, "members": self.members, "texts": self.texts, "pending": [], "leases": [],
            "unlistedLeases": 0, "completedLeases": 0, "losses": [], "late": [], "oddities": [], "storeWaits": [], "disagreements": [], "verdict": None, "timeline": [[500, 0, f"epoch 1 formed: {ranks} members"]],
        }

    def text(self, text):
        if text not in self.texts:
            self.texts.append(text)
        return self.texts.index(text)

    def set_state(self, rank, state):
        self.members[rank][3] = STATES.index(state)

    def wait(self, missing, title="Barrier('step 812') op 812 of the world", since=60_000):
        """All but these ranks wait in a collective."""
        missing = set(missing)
        for row in self.members:
            if row[0] not in missing:
                row[7], row[8], row[10:13] = self.text(title), since, [self.text(f"in {title}"), since, 1]
        arrived = [row[0] for row in self.members if row[0] not in missing]
        self.content["pending"] = [{"title": title, "arrived": ranges(arrived), "missing": ranges(sorted(missing)), "gaveUp": [],
                                    "first": since, "latest": since + 100}]
        self.content["timeline"].append([since + 30_000, 1, f"{title} has waited 30s; missing: {sorted(missing)}"])

    def lose(self, rank, cause="killed by signal 9 (Killed)"):
        row = self.members[rank]
        self.set_state(rank, "lost")
        self.content["losses"].insert(0, {"rank": rank, "node": self.texts[row[1]], "host": self.texts[row[4]], "pid": row[5],
                                          "cause": cause, "story": "in Barrier('step 812') op 812 of the world for 12s", "when": 200_000})
        self.content["timeline"].append([200_000, 2, f"the job has failed: rank {rank} was lost: {cause}"])


def ranges(ranks):
    found = []
    for rank in ranks:
        if found and found[-1][1] == rank - 1:
            found[-1][1] = rank
        else:
            found.append([rank, rank])
    return found


class StubDaemon:
    def __init__(self, status, step=1000):
        self.version, self.port, self.server = 0, 0, None
        self.now, self.asked, self.sent = 250_000, 0, 0
        self.step = step  # by how much its clock moves on at each request
        self.show(status)
        self.start()

    def show(self, status):
        """From now on this is the status."""
        self.content = json.dumps(status.content)
        self.version += 1

    def start(self):
        stub = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                stub.answer(self)

            def log_message(self, *_):
                pass

        self.server = self.listen(Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def listen(self, handler):
        # When the daemon restarts, another process may have its port for a moment.
        for _ in range(599):
            try:
                return http.server.ThreadingHTTPServer(("127.0.0.1", self.port), handler)
            except OSError:
                time.sleep(0.1)
        return http.server.ThreadingHTTPServer(("127.0.0.1", self.port), handler)

    def stop(self):
        self.server.shutdown()
        self.server.server_close()

    @property
    def address(self):
        # Not localhost: the browser tries ::1 first, where another process may have the port.
        return f"http://127.0.0.1:{self.port}/"

    def answer(self, request):
        url = urllib.parse.urlparse(request.path)
        if url.path == "/api/status":
            return send(request, "application/json", self.status(urllib.parse.parse_qs(url.query)))
        file = PAGE / (url.path.strip("/") or "index.html")
        if file.parent != PAGE or not file.exists():
            return request.send_error(404)
        return send(request, mimetypes.guess_type(file.name)[0], file.read_bytes())

    def status(self, query):
        self.asked += 1
        self.now += self.step
        head = f'{{"version":"{self.version}","now":{self.now},"at":{self.now},"poll":1000'
        if query.get("have") == [str(self.version)]:
            return (head + "}").encode()
        self.sent += 1
        return f"{head},{self.content[1:]}".encode()


def send(request, content_type, body):
    request.send_response(200)
    request.send_header("Content-Type", content_type)
    request.send_header("Content-Length", str(len(body)))
    request.send_header("Cache-Control", "no-store")
    request.send_header("Content-Security-Policy", POLICY)
    request.send_header("X-Content-Type-Options", "nosniff")
    request.end_headers()
    request.wfile.write(body)
