"""A stand-in for the gateway on a unix socket: numbered events at a steady pace, and an echo of the request's headers."""

import http.server
import json
import os
import socketserver
import sys
import time


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def address_string(self):
        return "unix"

    def log_message(self, format, *args):
        pass

    def do_GET(self):
        body = json.dumps({"path": self.path, "headers": {name.lower(): value for name, value in self.headers.items()}}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        # What a misled upstream might say; the proxy must not obey.
        self.send_header("X-Accel-Redirect", "/elsewhere")
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for number in range(8):
            event = b"data: %d %.6f\n\n" % (number, time.time())
            self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
            self.wfile.flush()
            time.sleep(0.5)
        self.wfile.write(b"0\r\n\r\n")


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


if os.path.exists(sys.argv[1]):
    os.unlink(sys.argv[1])
server = Server(sys.argv[1], Handler)
os.chmod(sys.argv[1], 0o666)
server.serve_forever()
