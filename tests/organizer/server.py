"""A server on loopback that speaks as much of the OpenAI protocol as an organizer needs."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def answer(content, finish: str = "stop") -> dict:
    """Make the body of an answer."""
    message = {"role": "assistant", "content": content}
    return {
        "id": "x", "object": "chat.completion", "created": 1, "model": "planner",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12},
    }  # fmt: skip


@contextmanager
def serving(*replies):
    """Answer requests with replies in turn, the last one again and again.

    A reply is a body, or a pair of a status and a body, or a function that sleeps. Yields the
    address and the list of requests so far.
    """
    seen: list[dict] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            size = int(self.headers["Content-Length"])
            seen.append({"path": self.path, **json.loads(self.rfile.read(size))})
            reply = replies[min(len(seen), len(replies)) - 1]
            if callable(reply):
                reply = reply()
            status, body = reply if isinstance(reply, tuple) else (200, reply)
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.handle_error = lambda *_: None  # clients that do not wait hang up
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", seen
    finally:
        server.shutdown()
        server.server_close()
