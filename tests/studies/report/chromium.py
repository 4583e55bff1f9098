"""A real browser for tests, spoken to through a pipe; nothing but Chromium itself is needed."""

import json
import os
import shlex
import shutil
import subprocess
import time
from contextlib import suppress

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser")


class Browser:
    """One page; `evaluate` runs JavaScript in it, `said` is what it complained of."""

    def __init__(self, profile):
        read_there, self._write = os.pipe()
        self._read, write_there = os.pipe()
        command = [
            PROGRAM, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
            "--disable-dev-shm-usage", "--disable-extensions", f"--user-data-dir={profile}",
            "--remote-debugging-pipe", "about:blank",
        ]  # fmt: skip
        text = f"exec {shlex.join(map(str, command))} 3<&{read_there} 4>&{write_there}"
        self._process = subprocess.Popen(
            ["bash", "-c", text],
            pass_fds=(read_there, write_there),
            stderr=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        os.close(read_there)
        os.close(write_there)
        self._number, self._rest, self._session = 0, b"", None
        self.said = []
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(t["targetId"] for t in targets if t["type"] == "page")
        attached = self.call("Target.attachToTarget", targetId=page, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with suppress(OSError, TimeoutError):
            self._session = None
            self.call("Browser.close")
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
        os.close(self._write)
        os.close(self._read)

    def call(self, method, **parameters):
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]
            self._hear(answer)

    def open(self, address, *, width=1280, height=900, dark=False):
        """Go there, and wait until all is loaded."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Page.navigate", url=address)
        self.wait_for("document.readyState === 'complete' && location.href !== 'about:blank'")

    def evaluate(self, script):
        found = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def wait_for(self, script, seconds=60):
        """Until a script says true."""
        end = time.monotonic() + seconds
        while not self.evaluate(script):
            assert time.monotonic() < end, f"never true: {script}"
            time.sleep(0.1)

    def _hear(self, event):
        told = event.get("params", {})
        if event.get("method") == "Runtime.exceptionThrown":
            self.said.append(str(told["exceptionDetails"]))
        elif event.get("method") == "Log.entryAdded" and told["entry"]["level"] == "error":
            self.said.append(told["entry"]["text"])
        elif event.get("method") == "Page.javascriptDialogOpening":
            self.said.append(f"a dialog: {told['message']}")

    def _next(self):
        while b"\0" not in self._rest:
            piece = os.read(self._read, 1 << 20)
            if not piece:
                raise OSError("the browser has gone")
            self._rest += piece
        message, self._rest = self._rest.split(b"\0", 1)
        return json.loads(message)
