"""Load on a server: python -m tests.cli.load PORT SECONDS BODY

Eight connections send 125 requests a second each, at fixed times: an answer that comes late does not delay the next request of another
connection. Prints the latencies from the moment a request was due as JSON.
"""

import asyncio
import gc
import json
import sys
import time

CLIENTS, RATE = 8, 1000


async def client(number, port, seconds, payload, latencies, errors):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    begin = time.perf_counter() + number / RATE
    for k in range(int(seconds * RATE / CLIENTS)):
        due = begin + k * CLIENTS / RATE
        if (wait := due - time.perf_counter()) > 0:
            await asyncio.sleep(wait)
        sent = time.perf_counter()
        writer.write(payload)
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        await reader.readexactly(length)
        latencies.append(time.perf_counter() - sent)
        if not head.startswith(b"HTTP/1.1 200"):
            errors.append(head[:40])
    writer.close()


async def main(port, seconds, body):
    head = f"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    latencies, errors = [], []
    began = time.perf_counter()
    await asyncio.gather(*(client(n, port, seconds, (head + body).encode(), latencies, errors) for n in range(CLIENTS)))
    elapsed = time.perf_counter() - began
    latencies.sort()
    at = {f"p{p:g} ms": round(1000 * latencies[min(len(latencies) - 1, int(len(latencies) * p / 100))], 3) for p in (50, 90, 99, 99.9, 100)}
    return {"requests": len(latencies), "requests per second": round(len(latencies) / elapsed, 1), "errors": len(errors), **at}


if __name__ == "__main__":
    gc.freeze()
    print(json.dumps(asyncio.run(main(int(sys.argv[1]), float(sys.argv[2]), sys.argv[3]))))
