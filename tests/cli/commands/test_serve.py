"""`sapwood serve` in a process of its own: answers, hostile bodies, signals; with --slow also load."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

import sapwood as library
from tests.cli.conftest import table
from tests.cli.processes import assert_refused, sapwood, start

ROW = {"size": 0.5, "colour": "red", "day": "2024-03-01", "old": True}


@pytest.fixture(scope="module")
def server(folder):
    process = start("serve", "m.sapwood", "--port", "0", "--json", cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    url = json.loads(process.stdout.readline())["url"]
    port = int(url.rpartition(":")[2])
    _wait(port)
    yield process, port
    process.send_signal(signal.SIGTERM)
    out, messages = process.communicate(timeout=30)
    assert (process.returncode, out) == (143, "")
    assert messages.splitlines() == [f"Serving m.sapwood on {url} (Ctrl-C ends it)", "sapwood: terminated"]


def _wait(port):
    end = time.monotonic() + 30
    while time.monotonic() < end:
        try:
            if request(port, "GET", "/health")[0] == 200:
                return
        except OSError:
            time.sleep(0.05)
    raise AssertionError("the server does not answer")


def request(port, method, path, body=None, headers=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def predict(port, body):
    status, answer = request(port, "POST", "/predict", json.dumps(body))
    return status, json.loads(answer)


def test_one_row_and_several(server, folder):
    model, frame = library.load(folder / "m.sapwood"), table()
    rows = json.loads(frame.drop(columns="y").to_json(orient="records"))
    status, answer = predict(server[1], rows)
    assert status == 200
    X = frame.assign(day=frame["day"].astype("datetime64[us]"))[model.feature_names_in_.tolist()]
    assert answer["predictions"] == model.predict(X).tolist()
    assert [row["yes"] for row in answer["probabilities"]] == model.predict_proba(X)[:, 1].tolist()
    status, one = predict(server[1], rows[3] | {"unused": 1})
    assert (status, one) == (200, {"prediction": answer["predictions"][3], "probabilities": answer["probabilities"][3]})


def test_schema_health_and_metrics(server):
    schema = json.loads(request(server[1], "GET", "/schema")[1])
    assert schema["properties"]["size"] == {"type": ["number", "null"]}
    assert schema["properties"]["day"]["format"] == "date-time"
    assert schema["properties"]["colour"]["examples"] == ["blue", "green", "red"]
    assert schema["required"] == ["size", "colour", "day", "old"]
    assert request(server[1], "GET", "/health") == (200, b'{"status":"ok"}')
    predict(server[1], ROW)
    text = request(server[1], "GET", "/metrics")[1].decode()
    assert 'sapwood_requests_total{status="200"}' in text
    assert "sapwood_predict_seconds_bucket" in text
    assert json.loads(request(server[1], "GET", "/")[1])["estimator"] == "BoostingClassifier"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("3", "must be an object"),
        ("[]", "non-empty array"),
        ("[1]", "row 0: a row must be an object"),
        ('{"size": 1}', "the column 'colour' is missing"),
        (json.dumps(ROW | {"size": "tall"}), "the column 'size': must be a number or null; got 'tall'"),
        (json.dumps(ROW | {"size": [1]}), "must have a single value"),
        (json.dumps(ROW | {"day": "yesterday"}), "the column 'day'"),
        (json.dumps(ROW | {"old": "no"}), "the column 'old'"),
        ("\xff\xfe".encode("latin1"), "not JSON"),
    ],
)
def test_malformed_bodies(body, words, server):
    status, answer = request(server[1], "POST", "/predict", body)
    assert status == 400
    assert words in json.loads(answer)["error"]
    assert predict(server[1], ROW)[0] == 200


def test_missing_values_and_unseen_levels(server):
    assert predict(server[1], dict.fromkeys(ROW))[0] == 200
    assert predict(server[1], ROW | {"colour": "violet"})[0] == 200
    assert request(server[1], "POST", "/predict", json.dumps(ROW).replace("0.5", "NaN"))[0] == 200


def memory(process):
    """Resident memory in bytes."""
    return int(Path(f"/proc/{process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_a_body_of_100_mb_is_refused(server):
    process, port = server
    before = memory(process)
    for headers in ({}, {"Transfer-Encoding": "chunked"}):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        body = (b" " * 2**20 for _ in range(100))
        length = {} if headers else {"Content-Length": str(100 * 2**20)}
        connection.request("POST", "/predict", body, {**headers, **length}, encode_chunked=bool(headers))
        answer = connection.getresponse()
        assert answer.status == 413
        assert "more than 10,485,760 bytes" in json.loads(answer.read())["error"]
        connection.close()
    assert predict(port, ROW)[0] == 200
    assert memory(process) - before < 60 * 2**20


def test_other_methods_and_garbage(server):
    port = server[1]
    assert request(port, "GET", "/predict")[0] == 405
    assert request(port, "GET", "/nothing")[0] == 404
    with socket.create_connection(("127.0.0.1", port), timeout=10) as raw:
        raw.sendall(b"\x00\x01garbage\r\n\r\n")
        assert raw.recv(100).startswith(b"HTTP/1.1 400") or raw.recv(100) == b""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as raw:  # leaves in the middle of a body
        raw.sendall(b"POST /predict HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
    assert predict(port, ROW)[0] == 200


def test_errors(server, folder):
    assert_refused(sapwood("serve", "m.sapwood", "--port", server[1], cwd=folder), "cannot listen on 127.0.0.1", "Address already in use")


@pytest.mark.slow
def test_load(server):
    """1,000 requests a second from 8 clients for a minute: no error, flat memory, p99 below 5 ms for one row."""
    process, port = server
    seconds = float(os.environ.get("SAPWOOD_LOAD_SECONDS", "60"))
    command = [sys.executable, "-m", "tests.cli.load", str(port), str(seconds), json.dumps(ROW)]
    run = subprocess.run([*command[:-2], "3", command[-1]], capture_output=True, text=True, timeout=100, check=True)  # warm-up
    before = memory(process)
    run = subprocess.run(command, capture_output=True, text=True, timeout=seconds + 60, check=True)
    result = json.loads(run.stdout)
    result["memory growth, bytes"] = memory(process) - before
    print(result)
    assert result["errors"] == 0
    assert result["requests per second"] > 990
    assert result["memory growth, bytes"] < 5 * 2**20
    assert result["p99 ms"] < 5
