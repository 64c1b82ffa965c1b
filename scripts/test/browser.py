#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Opens pages in headless Chromium and reports what is wrong with them. For scripts/test/browser.sh.

    scripts/test/browser.py FOLDER CHECK [ADDRESS …]

The script writes a screenshot of each view to FOLDER, and files that a page saves. CHECK is a JavaScript file with an expression whose value, or whose
promise's value, is a list of complaints; it may use `view` ({"name", "width", "dark"}). Each ADDRESS is NAME=URL and is
opened at the sizes of a phone and a desktop, in light and dark mode. Complaints, console output, exceptions, failed loads
and requests to any other origin make the script fail.

It controls Chromium through the DevTools protocol over two pipes (--remote-debugging-pipe: JSON messages that end with a
zero byte), so it needs nothing but Python itself.
"""
import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

VIEWS = [{"name": "phone", "width": 390, "dark": False}, {"name": "phone-dark", "width": 390, "dark": True},
         {"name": "desktop", "width": 1200, "dark": False}, {"name": "desktop-dark", "width": 1200, "dark": True}]
SECONDS = 60  # for one answer of the browser


class Browser:
    def __init__(self):
        program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
        if program is None:
            sys.exit("browser.py: Chromium is not installed: apt-get install chromium")
        self.profile = tempfile.mkdtemp(prefix="myxtts-browser-")
        to_child, self.out = os.pipe()
        self.inp, from_child = os.pipe()

        def pipes():  # the protocol's places: 3 is read by the browser, 4 written
            os.dup2(to_child, 103)
            os.dup2(from_child, 104)
            os.dup2(103, 3)
            os.dup2(104, 4)
            os.set_inheritable(3, True)
            os.set_inheritable(4, True)

        options = ["--headless=new", "--remote-debugging-pipe", "--disable-gpu", "--no-first-run", "--mute-audio",
                   "--autoplay-policy=no-user-gesture-required", "--disable-background-networking",
                   "--disable-component-update", "--user-data-dir=" + self.profile]
        if os.getuid() == 0:
            options.append("--no-sandbox")
        self.log = open(os.path.join(self.profile, "log"), "wb")
        self.process = subprocess.Popen([program] + options, preexec_fn=pipes, close_fds=False, stderr=self.log,
                                        stdout=self.log)
        os.close(to_child)
        os.close(from_child)
        self.rest, self.number, self.events = b"", 0, []

    def message(self):
        while b"\0" not in self.rest:
            data = os.read(self.inp, 1 << 20)
            if not data:
                sys.exit("browser.py: Chromium ended: " + open(self.log.name, errors="replace").read()[-600:])
            self.rest += data
        text, self.rest = self.rest.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, session=None, **arguments):
        self.number += 1
        message = {"id": self.number, "method": method, "params": arguments}
        if session:
            message["sessionId"] = session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.message()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(method + ": " + answer["error"]["message"])
                return answer["result"]
            if "method" in answer:
                self.events.append(answer)

    def close(self):
        try:
            self.call("Browser.close")
            self.process.wait(SECONDS)
        finally:
            self.process.kill()
            self.log.close()
            shutil.rmtree(self.profile, ignore_errors=True)


def complaints_of(events, own):
    for event in events:
        p = event["params"]
        if event["method"] == "Runtime.consoleAPICalled":
            yield "console: " + " ".join(str(a.get("value", a.get("description"))) for a in p["args"])
        elif event["method"] == "Runtime.exceptionThrown":
            d = p["exceptionDetails"]
            yield "exception: " + d.get("exception", {}).get("description", d["text"])
        elif event["method"] == "Log.entryAdded":
            yield "log: " + p["entry"]["text"]
        elif event["method"] == "Network.requestWillBeSent":
            url = p["request"]["url"]
            if not url.startswith((own, "data:", "blob:")):
                yield "request to " + url[:200]
        elif event["method"] == "Network.loadingFailed" and not p.get("canceled"):
            yield "failed load: " + p["errorText"]


def look(browser, folder, name, url, view, check):
    """One page in one view: its complaints."""
    browser.events.clear()
    target = browser.call("Target.createTarget", url="about:blank")["targetId"]
    session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
    for domain in ("Page", "Runtime", "Network", "Log"):
        browser.call(domain + ".enable", session)
    browser.call("Emulation.setDeviceMetricsOverride", session, width=view["width"], height=844, deviceScaleFactor=1,
                 mobile=view["width"] < 600)
    browser.call("Emulation.setEmulatedMedia", session, media="screen",
                 features=[{"name": "prefers-color-scheme", "value": "dark" if view["dark"] else "light"}])
    browser.call("Page.navigate", session, url=url)
    for _ in range(SECONDS * 10):
        state = browser.call("Runtime.evaluate", session, expression="document.readyState + ' ' + location.href")
        if state["result"]["value"].startswith("complete") and "about:blank" not in state["result"]["value"]:
            break
        time.sleep(0.1)
    size = browser.call("Page.getLayoutMetrics", session)["cssContentSize"]
    picture = browser.call("Page.captureScreenshot", session, captureBeyondViewport=True, clip={
        "x": 0, "y": 0, "width": view["width"], "height": min(size["height"], 12000), "scale": 1})
    with open(os.path.join(folder, name + "-" + view["name"] + ".png"), "wb") as file:
        file.write(base64.b64decode(picture["data"]))
    answer = browser.call("Runtime.evaluate", session, awaitPromise=True, returnByValue=True,
                          expression="(async view => (" + check + "))(" + json.dumps(view) + ")")
    found = []
    if "exceptionDetails" in answer:
        d = answer["exceptionDetails"]
        found.append("check: " + d.get("exception", {}).get("description", d["text"]))
    else:
        found.extend(answer["result"].get("value") or [])
    browser.call("Target.closeTarget", targetId=target)
    own = url.split("?")[0].rsplit("/", 1)[0] + "/"
    return found + list(complaints_of([e for e in browser.events if e.get("sessionId") == session], own))


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    folder, check = sys.argv[1], open(sys.argv[2], encoding="utf-8").read()
    os.makedirs(folder, exist_ok=True)
    browser, failures = Browser(), 0
    browser.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=os.path.realpath(folder))
    try:
        for address in sys.argv[3:]:
            name, url = address.split("=", 1)
            for view in VIEWS:
                found = look(browser, folder, name, url, view, check)
                print(("ok     " if not found else "FAILED ") + name + ", " + view["name"])
                for complaint in found:
                    print("       " + complaint)
                failures += bool(found)
    finally:
        browser.close()
    sys.exit(1 if failures else 0)


main()
