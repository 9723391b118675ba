"""Live page: a local web server that shows the training while it runs."""

from __future__ import annotations

import json
import sys
import threading
import time
import webbrowser
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

import numpy as np

from sapwood.callbacks import Callback, Round
from sapwood.callbacks.log import summary
from sapwood.report.forest import pack_forest
from sapwood.report.markup import Html, chart, element, join, number, plural
from sapwood.report.page import page_header, render_page
from sapwood.report.sections.base import Section
from sapwood.report.sections.importance import KINDS, top_columns, tree_importances
from sapwood.report.sections.learning import curves_data

HOST = "127.0.0.1"
LINGER = 2.0  # seconds that the server waits for another run
LAST_SECONDS = 3.0  # seconds that it waits at the end until open pages have the last news
TREE_KINDS = {name: KINDS[name] for name in ("gain", "split", "cover")}


class LiveReport(Callback):
    """Serve a page on this computer that shows learning curves, importances and the latest tree during training.

    The server listens on the loopback address only. It stops when no training has run for two seconds, so that one page shows
    several runs; or earlier, by `close` or at the end of a `with` block. The page stays as it is then.

    Parameters
    ----------
    port : int, default=0
        Port of the server; 0 for any free one.
    every : float, default=0.5
        Minimum number of seconds between updates.
    open_browser : bool, default=False
        Whether to open the page in a browser.
    announce : function, optional
        Called with the address of the page when the server has started. None: a line on stderr.

    Attributes
    ----------
    url : str
        Address of the page; None before training.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sapwood import BoostingRegressor
    >>> from sapwood.report import LiveReport
    >>> X, y = load_diabetes(return_X_y=True)
    >>> with LiveReport(announce=lambda url: None) as live:
    ...     model = BoostingRegressor(max_iter=5).fit(X, y, eval_sets={"test": (X, y)}, callbacks=[live])
    """

    url: str | None

    def __init__(
        self, port: int = 0, *, every: float = 0.5, open_browser: bool = False, announce: Callable[[str], object] | None = None
    ) -> None:
        if not 0 <= port < 65536:
            raise ValueError(f"LiveReport: port must be from 0 to 65535; got {port}")
        if not every >= 0:
            raise ValueError(f"LiveReport: every must be >= 0; got {every}")
        self.port, self.every, self.open_browser, self.announce = port, every, open_browser, announce
        self.url = None
        self._server: _Server | None = None
        self._stop: threading.Timer | None = None
        self._lock = threading.RLock()
        self._run = 0
        self._updated = 0.0

    def __enter__(self) -> LiveReport:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def before_training(self, state: Round) -> None:
        with self._lock:
            if self._stop is not None:
                self._stop.cancel()
            self._run += 1
            if self._server is None:
                self._start(_page(state))
            else:
                self._server.page = _page(state)
        self._update(state, f"Round {state.n_rounds} of {state.max_rounds}")

    def after_round(self, state: Round) -> bool:
        if time.monotonic() - self._updated >= self.every:
            self._update(state, f"Round {state.n_rounds} of {state.max_rounds}")
        return False

    def after_training(self, state: Round) -> None:
        text = summary(state)
        self._update(state, text[0].upper() + text[1:], over=True)
        self._stop = threading.Timer(LINGER, self.close)
        self._stop.daemon = True
        self._stop.start()

    def close(self) -> None:
        """Stop the server, when open pages have the last news."""
        with self._lock:
            if self._stop is not None:
                self._stop.cancel()
            if self._server is not None:
                self._server.finish(LAST_SECONDS)
                self._server = None

    def _start(self, page: bytes) -> None:
        self._server = _Server(self.port, page)
        self.url = f"http://{HOST}:{self._server.port}/"
        self._server.start()
        if self.announce is None:
            print(f"Training: {self.url}", file=sys.stderr)
        else:
            self.announce(self.url)
        if self.open_browser:
            webbrowser.open(self.url)

    def _update(self, state: Round, status: str, over: bool = False) -> None:
        run = f"Run {self._run}. " if self._run > 1 else ""
        message = json.dumps({**news(state), "status": run + status, "over": over}, allow_nan=False).encode()
        with self._lock:
            if self._server is not None:
                self._server.publish(message)
        self._updated = time.monotonic()


def news(state: Round) -> dict[str, Any]:
    """Return the data of the sections that change during training."""
    model, total = state.model, state.max_rounds
    n_scores = max((len(values) for of in state.scores.values() for values in of.values()), default=1)
    first = state.n_rounds - n_scores + 1
    sections: dict[str, Any] = {"learning": {"curves": curves_data(state.scores, first), "best": total, "total": total}}
    forest = None
    if model.n_rounds:
        names = [str(name) for name in model.schema.names or map("column {}".format, range(model.encoding.n_columns))]
        kinds = tree_importances(model)
        sections["importance"] = {"kinds": {name: top_columns(names, kinds[name]) for name in TREE_KINDS}, "texts": TREE_KINDS}
        latest = model[model.n_rounds - 1 :]
        latest.best_round = None
        latest.finish(state.train_set.pages)
        if any(tree.n_leaves > 1 for tree in latest.trees):
            forest = pack_forest(latest, np.empty((0, model.encoding.n_columns))).data
            sections["trees"] = {"labels": [f"output {k}" for k in range(model.n_outputs)]}
    return {"sections": sections, "forest": forest, "round": state.n_rounds, "total": total}


def _page(state: Round) -> bytes:
    model, n_rows = state.model, state.train_set.pages.n_rows
    status = join(
        [
            element("p", "Training has started.", id="live-status", role="status", aria_live="polite"),
            element("progress", id="live-progress", max=state.max_rounds, value=state.n_rounds, aria_label="Rounds"),
        ]
    )
    importance = join([element("div", id="importance-control", class_="controls"), chart("importance", "Importance of columns so far")])
    tree = join([element("div", id="tree-control", class_="controls"), chart("tree", "Latest tree")])
    sections = [
        Section("progress", "Progress", status),
        Section("learning", "Learning curves", chart("learning", "Score after each round")),
        Section("importance", "Importance of columns", importance),
        Section("trees", "Latest tree", tree),
    ]
    cards = [
        ("Rows", number(n_rows), ""),
        ("Columns", number(model.encoding.n_columns), ""),
        ("Rounds", number(state.max_rounds), "at most"),
    ]
    subtitle = f"Loss {model.loss}, {plural(model.trees_per_round, 'tree')} per round"
    header: Html = page_header("Training", subtitle, cards, [])
    return render_page("Training", header, sections, {"forest": None}, live=True).encode()


class _Server:
    """Web server of one page and its events."""

    def __init__(self, port: int, page: bytes) -> None:
        self.page = page
        self.news = b""
        self.version = 0
        self.done = False
        self.n_open = 0  # pages that wait for events
        self.changed = threading.Condition()
        self._http = ThreadingHTTPServer((HOST, port), _Handler)
        self._http.daemon_threads = True
        self._http.live = self  # type: ignore[attr-defined]
        self.port: int = self._http.server_address[1]
        self._thread = threading.Thread(
            target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, name="sapwood live report", daemon=True
        )

    def start(self) -> None:
        self._thread.start()

    def publish(self, news: bytes) -> None:
        with self.changed:
            self.news, self.version = news, self.version + 1
            self.changed.notify_all()

    def finish(self, seconds: float) -> None:
        """Stop when all open pages have the last news, or after some seconds."""
        with self.changed:
            self.done = True
            self.changed.notify_all()
            self.changed.wait_for(lambda: self.n_open == 0, seconds)
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def hosts(self) -> set[str]:
        """Return the names by which a browser may call this server: others are attacks by rebinding a domain name."""
        return {f"{name}:{self.port}" for name in (HOST, "localhost")}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        live = cast(_Server, self.server.live)  # type: ignore[attr-defined]
        if self.headers.get("Host") not in live.hosts():
            self.send_error(403, "unknown host")
        elif self.path == "/":
            self._respond("text/html; charset=utf-8", len(live.page))
            self.wfile.write(live.page)
        elif self.path == "/events":
            self._events(live)
        else:
            self.send_error(404)

    def _events(self, live: _Server) -> None:
        """Send the latest news whenever there are some, until the training ends or the page is closed."""
        self._respond("text/event-stream", None)
        seen = 0
        with live.changed:
            live.n_open += 1
        try:
            while True:
                with live.changed:
                    while live.version == seen and not live.done:
                        live.changed.wait()
                    news, seen, done = live.news, live.version, live.done
                self.wfile.write(b"data: " + news + b"\n\n")
                if done:
                    self.wfile.write(b"event: done\ndata: \n\n")
                self.wfile.flush()
                if done:
                    break
        except OSError:  # the page was closed
            pass
        finally:
            with live.changed:
                live.n_open -= 1
                live.changed.notify_all()
            self.close_connection = True

    def _respond(self, content_type: str, length: int | None) -> None:
        self.send_response(200)
        self.send_header("Content-Type", content_type)
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        if length is None:
            self.send_header("Connection", "close")
        else:
            self.send_header("Content-Length", str(length))
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Write no log."""
