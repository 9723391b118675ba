"""The live page: a server on the loopback address that ends with the training."""

import http.client
import json
import threading
import time
import urllib.request

import numpy as np
import pytest
from selenium.webdriver.support.ui import WebDriverWait

from sapwood import BoostingClassifier, BoostingRegressor
from sapwood.callbacks import Callback
from sapwood.report import LiveReport
from tests.report.kinds import ROUNDS, mixed_table, target


class Pause(Callback):
    """Training waits after a round until the test has looked."""

    def __init__(self, at):
        self.at, self.reached, self.resume = at, threading.Event(), threading.Event()

    def after_round(self, state):
        if state.n_rounds == self.at:
            self.reached.set()
            assert self.resume.wait(60)
        return False


def start(live, pause, estimator=None, **more):
    X = mixed_table()
    y = target(X)
    model = estimator or BoostingRegressor(**ROUNDS)
    thread = threading.Thread(target=model.fit, args=(X, y), kwargs={"eval_sets": {"test": (X, y)}, "callbacks": [live, pause], **more})
    thread.start()
    assert pause.reached.wait(60)
    return thread, model


def test_page_follows_the_training(browser):
    live, pause = LiveReport(every=0, announce=lambda url: None), Pause(3)
    thread, model = start(live, pause)
    browser.view(1280)
    browser.visit(live.url)
    wait = WebDriverWait(browser.driver, 20)
    wait.until(lambda _: browser.run("return document.documentElement.dataset.round") == "3")
    assert "Round 3 of 8" in browser.run("return document.getElementById('live-status').textContent")
    assert browser.run("return document.querySelectorAll('#plot-learning svg, #plot-importance svg, #plot-tree svg').length") >= 3
    pause.resume.set()
    thread.join(60)
    assert not thread.is_alive()
    live.close()
    wait.until(lambda _: browser.run("return document.documentElement.dataset.round") == "8")
    assert "Finished 8 rounds" in browser.run("return document.getElementById('live-status').textContent")
    last = browser.run("return sapwood.data.sections.learning.curves[0].values.at(-1)")
    assert last == pytest.approx(next(iter(model.evals_result_["test"].values()))[-1], rel=1e-4)


def test_server_is_local_and_ends_with_the_training():
    urls = []
    live, pause = LiveReport(announce=urls.append), Pause(2)
    thread, _ = start(live, pause)
    assert urls == [live.url] and live.url.startswith("http://127.0.0.1:")
    port = int(live.url.rsplit(":")[-1].strip("/"))
    with urllib.request.urlopen(live.url, timeout=10) as page:
        html = page.read().decode()
    assert "connect-src" in html and html.count("<script") == 2
    for path, host, status in (("/nothing", f"127.0.0.1:{port}", 404), ("/", "evil.example", 403), ("/events", "evil.example", 403)):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        connection.request("GET", path, headers={"Host": host})
        assert connection.getresponse().status == status
        connection.close()
    pause.resume.set()
    thread.join(60)
    for _ in range(100):  # no other run follows
        if not [one for one in threading.enumerate() if one.name == "sapwood live report"]:
            break
        time.sleep(0.1)
    with pytest.raises(OSError):
        urllib.request.urlopen(live.url, timeout=10)


def test_events_are_the_scores():
    live, pause = LiveReport(every=0, announce=lambda url: None), Pause(4)
    thread, _ = start(live, pause)
    with urllib.request.urlopen(live.url + "events", timeout=10) as events:
        news = json.loads(events.readline()[6:])
        pause.resume.set()
        thread.join(60)
        live.close()
        lines = [line for line in events if line.startswith((b"data: {", b"event: "))]
    assert news["round"] == 4 and not news["over"]
    assert news["sections"]["learning"]["curves"][0]["rounds"] == [0, 1, 2, 3, 4]
    assert {"gain", "split", "cover"} == set(news["sections"]["importance"]["kinds"])
    assert lines[-1] == b"event: done\n" and json.loads(lines[-2][6:])["over"]


@pytest.mark.parametrize("how", [{"tree_method": "exact"}, {"boosting": "dart"}, {"grow_policy": "symmetric"}])
def test_model_is_the_same(how):
    X = mixed_table()
    y = (target(X) > 1).astype(int)
    with LiveReport(every=0, announce=lambda url: None) as live:
        watched = BoostingClassifier(**ROUNDS, **how).fit(X, y, callbacks=[live])
    assert watched.model_.to_bytes() == BoostingClassifier(**ROUNDS, **how).fit(X, y).model_.to_bytes()
    assert live.url is not None


def test_server_ends_after_an_error():
    class Fails(Callback):
        def after_round(self, state):
            raise RuntimeError("stop here")

    with LiveReport(announce=lambda url: None) as live, pytest.raises(RuntimeError, match="stop here"):
        BoostingRegressor(**ROUNDS).fit(np.arange(40.0)[:, None], np.arange(40), callbacks=[live, Fails()])
    with pytest.raises(OSError):
        urllib.request.urlopen(live.url, timeout=10)


@pytest.mark.parametrize("bad", [{"port": -1}, {"port": 70000}, {"every": -1}])
def test_bad_arguments(bad):
    with pytest.raises(ValueError, match="LiveReport"):
        LiveReport(**bad)


def test_one_page_for_several_runs():
    X = mixed_table()
    urls, seen = [], []

    class Look(Callback):
        def after_round(self, state):
            if state.n_rounds == 1:
                with urllib.request.urlopen(f"{urls[0]}events", timeout=10) as events:
                    seen.append(json.loads(events.readline()[6:])["status"])
            return False

    with LiveReport(every=0, announce=urls.append) as live:
        for _ in range(3):
            BoostingRegressor(**ROUNDS).fit(X, target(X), callbacks=[live, Look()])
    assert len(urls) == 1
    assert seen == ["Round 1 of 8", "Run 2. Round 1 of 8", "Run 3. Round 1 of 8"]
