"""`sapwood serve`."""

from __future__ import annotations

import gc
import signal
import socket
import sys
from typing import TYPE_CHECKING, Any

from sapwood.cli.errors import CommandError, Terminated, needs
from sapwood.cli.output import Output

if TYPE_CHECKING:
    from types import FrameType

LOOPBACK = ("127.0.0.1", "::1", "localhost")


def serve(model: str, /, *, host: str = "127.0.0.1", port: int = 8000, max_body: int = 10 * 2**20, out: Output = Output()) -> None:
    """Serve predictions of a model over HTTP, on this machine only by default.

    POST /predict takes a JSON object (one row) or an array of objects. GET /schema is the JSON schema of a row; /health and /metrics are
    for monitoring. There is no authentication and no encryption: put a proxy in front before other machines may connect.

    Parameters
    ----------
    model
        Model file.
    host
        Address to listen on.
    port
        Port to listen on; 0 for any free port.
    max_body
        Largest body of a request, in bytes.
    """
    uvicorn = needs("uvicorn", "serve", "sapwood serve")
    for module in ("starlette", "prometheus_client"):
        needs(module, "serve", "sapwood serve")
    from sapwood.cli.models import load_model
    from sapwood.serving import make_app

    estimator = load_model(model)
    estimator.set_params(n_jobs=1)  # requests run beside each other
    listener = _listen(host, port)
    address, actual = listener.getsockname()[:2]
    url = f"http://{f'[{address}]' if ':' in address else address}:{actual}"
    app = make_app(estimator, max_body=max_body)
    config = uvicorn.Config(app, log_level="error", access_log=False, lifespan="off", server_header=False, timeout_graceful_shutdown=5)
    gc.collect()
    gc.freeze()  # the model is not garbage: collections need not look at it
    signal.signal(signal.SIGTERM, _terminate)  # after uvicorn has closed connections, it raises the signal again
    if host not in LOOPBACK:
        print(f"sapwood: warning: {url} can be reached from other machines, without authentication", file=sys.stderr)
    out.say(f"Serving {model} on {url} (Ctrl-C ends it)")
    if out.json:
        out.result_json({"url": url})
    uvicorn.Server(config).run(sockets=[listener])


def _listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens on an address."""
    if not 0 <= port < 65_536:
        raise CommandError(f"--port must be from 0 to 65535; got {port}")
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=1024)
    except (OSError, OverflowError, UnicodeError) as error:
        raise CommandError(f"cannot listen on {host}, port {port}: {getattr(error, 'strerror', None) or error}") from None


def _terminate(number: int, frame: FrameType | None) -> Any:
    raise Terminated
