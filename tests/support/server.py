"""A server on loopback that answers JSON with JSON, such as the OpenAI protocol."""

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

    A reply is a body, or a pair of a status and a body, or a function of the request that returns
    either. Yields the address and the list of requests so far: fields of the body, with `path` and
    `headers`.
    """
    seen: list[dict] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            size = int(self.headers["Content-Length"])
            sent = {"path": self.path, "headers": dict(self.headers)}
            sent |= json.loads(self.rfile.read(size))
            seen.append(sent)
            reply = replies[min(len(seen), len(replies)) - 1]
            if callable(reply):
                reply = reply(sent)
            status, body = reply if isinstance(reply, tuple) else (200, reply)
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
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
