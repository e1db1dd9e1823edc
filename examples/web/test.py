#!/usr/bin/env python3
"""Does the page say what the library says?

Rebuilds the WebAssembly, runs the same simulation natively, opens the page from a file:// address
in headless Chromium and compares the verdicts. Then it moves a slider while a test runs and puts
pictures into build/. It speaks the DevTools protocol over a pipe, so it needs only python3 and
chromium.

A missing tool is a visible skip, and a failure when CI=true.
"""
import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILD = HERE / "build"
PASSED, FAILED = [], []
SLIDERS = ("speed", "scatter", "wind", "heavy", "link")
FAITHFUL = dict(n=100, seed=55, speed=30, scatter=2.5, wind=3, heavy=0.35, link=0.6)
# one setting for each preset of the page, and the corners of the sliders
SETTINGS = {
    "faithful": {},
    "too fast": dict(speed=30.4),
    "too tidy": dict(scatter=1.6),
    "windy": dict(wind=5),
    "wrong mix": dict(heavy=0.6, seed=4),
    "link reversed": dict(link=-0.6, seed=7),
    "fewest throws": dict(n=20, seed=999999999),
    "most throws": dict(n=200, seed=2),
    "all low": dict(n=20, speed=28, scatter=0.5, wind=0, heavy=0, link=-0.9),
    "all high": dict(n=30, speed=32, scatter=5, wind=8, heavy=1, link=0.9),
}


def check(name, good, detail=""):
    (PASSED if good else FAILED).append(name)
    print("ok  " if good else "FAIL", name + (f": {detail}" if detail != "" else ""), flush=True)
    return good


def finish():
    print(f"{len(PASSED)} passed, {len(FAILED)} failed")
    sys.exit(1 if FAILED else 0)


def missing(tool):
    if os.environ.get("CI") == "true":
        check(f"{tool} is installed", False)
    else:
        print(f"skipped: {tool} is not installed")
    finish()


def make(*targets):
    done = subprocess.run(["make", "-s", *targets], cwd=HERE, capture_output=True, text=True)
    said = (done.stdout + done.stderr).strip()
    return check("make " + " ".join(targets), done.returncode == 0, said)


def native(setting):
    values = [str(setting[key]) for key in ("n", "seed", *SLIDERS)]
    return json.loads(subprocess.check_output([str(BUILD / "verdict"), *values]))


class Chromium:
    """One headless browser; commands and events are NUL-terminated JSON over two pipes."""

    def __init__(self, program, profile):
        down_read, self.down = os.pipe()
        self.up, up_write = os.pipe()

        def wire():  # the browser reads commands on 3 and writes answers on 4
            # the pipes themselves may be 3 or 4: move them out of the way first
            a, b = os.dup(down_read), os.dup(up_write)
            while a in (3, 4):
                a = os.dup(a)
            while b in (3, 4):
                b = os.dup(b)
            os.dup2(a, 3)
            os.dup2(b, 4)

        self.process = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
             "--no-first-run", "--disable-background-networking", "--disable-component-update",
             "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars",
             "--remote-debugging-pipe", f"--user-data-dir={profile}", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, close_fds=False, preexec_fn=wire)
        os.close(down_read)
        os.close(up_write)
        self.rest, self.number, self.session, self.requests, self.errors = b"", 0, None, [], []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def message(self):
        while b"\0" not in self.rest:
            data = os.read(self.up, 1 << 16)
            if not data:
                raise RuntimeError("the browser has gone")
            self.rest += data
        text, self.rest = self.rest.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **params):
        self.number += 1
        command = {"id": self.number, "method": method, "params": params}
        if self.session:
            command["sessionId"] = self.session
        os.write(self.down, json.dumps(command).encode() + b"\0")
        while True:
            answer = self.message()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.event(answer)

    def event(self, message):
        method, params = message.get("method"), message.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.errors.append(str(params["exceptionDetails"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.errors.append(params["entry"]["text"])

    def ask(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True,
                           returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(str(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def size(self, width, height, dark=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1 if width > 600 else 2, mobile=width <= 600)
        self.call("Emulation.setEmulatedMedia", media="", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def open(self, page, setting):
        self.call("Page.navigate", url="about:blank")
        address = page.as_uri() + "#" + "&".join(f"{key}={value}" for key, value in setting.items())
        self.call("Page.navigate", url=address)
        return self.result()

    def result(self, seconds=60):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            state = self.ask("document.documentElement?.dataset.state || ''")
            if state == "done":
                return json.loads(self.ask("document.documentElement.dataset.result"))
            if state == "error":
                raise RuntimeError(self.ask("document.getElementById('verdict-word').textContent"))
            time.sleep(0.02)
        raise RuntimeError("the test on the page did not end")

    def picture(self, name, whole=False):
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        (BUILD / name).write_bytes(base64.b64decode(shot["data"]))

    def close(self):
        try:
            self.session = None
            self.call("Browser.close")
        except (OSError, RuntimeError):
            pass
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def same(a, b):
    return abs(a - b) <= 1e-6 * max(abs(a), abs(b))


def close(a, b):
    return abs(a - b) <= 1e-6


def compare(browser, page, name, change):
    setting = {**FAITHFUL, **change}
    there, here = browser.open(page, setting), native(setting)
    reals = ("statistic", "p", "low", "high", "threshold")
    good = (all(there[key] == setting[key] for key in setting)
            and all(same(there[key], here[key]) for key in reals)
            and all(len(there[key]) == len(here[key])
                    and all(close(a, b) for a, b in zip(there[key], here[key]))
                    for key in ("adjusted", "distances", "shifts", "pairs"))
            and there["reject"] == here["reject"] and there["leading"] == here["leading"])
    bits = there["statistic"] == here["statistic"] and there["threshold"] == here["threshold"]
    check(f"page and native program agree, {name}", good,
          f"T {here['statistic']:.6g} p {here['p']:.3f} {'rejected' if here['reject'] else 'kept'}"
          f"{', bit for bit' if bits else ''}; {there['work']:.0f} ms in {there['frames']} frames,"
          f" longest slice {there['longest']:.1f} ms" + ("" if good else f"; {there} {here}"))


def words(browser):
    """What the reader sees."""
    return json.loads(browser.ask("""JSON.stringify({
        p: document.getElementById('p').textContent,
        word: document.getElementById('verdict-word').textContent,
        says: document.getElementById('says').textContent,
        where: document.getElementById('where').textContent,
        kind: document.getElementById('kind').closest('li').hidden ? ''
            : document.getElementById('kind').textContent,
        lit: [...document.querySelectorAll('.coordinate.lit .name')].map((e) => e.textContent),
        bars: document.querySelectorAll('.coordinate').length,
        ringed: document.getElementById('ringed').textContent.trim(),
        progress: document.getElementById('bar').getAttribute('aria-valuenow')})"""))


def change(name, verdict, i):
    """How the page begins to describe a changed column."""
    shift = verdict["shifts"][i]
    return f"{name} (mean {'lower' if shift < 0 else 'higher'} by {abs(shift):.2f} sd, "


def preset(browser, name):
    browser.ask(f"""[...document.querySelectorAll('#presets button')]
        .find((button) => button.textContent === '{name}').click()""")
    return browser.result()


def interact(browser, page):
    browser.open(page, FAITHFUL)
    shown = words(browser)
    check("a faithful simulator is not rejected, in words", shown["word"] == "Not rejected"
          and shown["lit"] == [] and shown["bars"] == 4 and shown["progress"] == "100"
          and shown["says"].startswith("Of 499 data sets of 100 throws, drawn by the simulator, ")
          and shown["where"] == "no column and no pair of columns stands out."
          and shown["kind"] == "", shown)
    # move a slider, let a few frames go by, move it again: only the second test counts
    frames = browser.ask("""(async () => {
        const tick = () => new Promise((next) => requestAnimationFrame(next));
        const move = (value) => {
            const input = document.getElementById('speed');
            input.value = value;
            input.dispatchEvent(new Event('input', { bubbles: true }));
        };
        move(31);
        for (let k = 0; k < 5; k++) await tick();
        const before = document.documentElement.dataset.state;
        move(30.4);
        await tick();
        await tick();
        return before + ' ' + document.documentElement.dataset.state;
    })()""")
    result, here = browser.result(), native({**FAITHFUL, "speed": 30.4})
    check("a slider moved in mid-test restarts it", frames == "computing computing"
          and result["speed"] == 30.4 and same(result["statistic"], here["statistic"]), frames)
    shown = words(browser)
    check("the verdict names where", shown["word"] == "Rejected"
          and shown["p"] == f"{here['p']:.3f}" and shown["lit"] == ["Range"]
          and shown["where"].startswith(f"column {change('range', here, 0)}"), shown)
    check("rows are circled where they explain the verdict",
          (shown["ringed"] != "") == (here["leading"] in (1, 2, 4)), (shown, here["leading"]))
    preset(browser, "Wrong mix")
    shown, here = words(browser), native({**FAITHFUL, "heavy": 0.6})
    check("a wrong mix names range, time and height, not drift",
          sorted(shown["lit"]) == ["Flight time", "Peak height", "Range"]
          and shown["where"].startswith(f"columns {change('range', here, 0)}")
          and "drift" not in shown["where"] and "MMD" in shown["kind"] and shown["ringed"] == "",
          shown)
    preset(browser, "Link reversed")
    shown, here = words(browser), native({**FAITHFUL, "link": -0.6})
    check("a reversed link names pairs with both correlations",
          f"; the pairs range and peak height (correlation {here['pairs'][2]:.2f}, "
          f"the simulator's {here['pairs'][3]:.2f}), " in shown["where"], shown)
    browser.ask("document.getElementById('again').click()")
    check("another recording is another seed", browser.result()["seed"] == 56)
    browser.ask("document.querySelectorAll('#presets button')[0].click()")
    result = browser.result()
    check("a preset sets all sliders", all(result[key] == FAITHFUL[key] for key in SLIDERS))
    labels = browser.ask("""[...document.querySelectorAll('input')].every((input) =>
        input.labels.length === 1 && input.labels[0].textContent.trim() !== ''
        && input.getAttribute('aria-valuetext'))""")
    check("every slider has a label", bool(labels))
    browser.ask("""new Promise((heard) => {
        addEventListener('hashchange', () => heard(1), { once: true });
        location.hash = '#n=20&speed=nonsense&wind=-7&heavy=9&seed=1e99';
    })""")
    result = browser.result()
    check("nonsense in the address is ignored", result["n"] == 20 and result["seed"] == 56
          and all(result[key] == FAITHFUL[key] for key in SLIDERS))


def pictures(browser, page):
    faithful, off = FAITHFUL, {**FAITHFUL, "speed": 30.4}
    shapes = (("desktop", 1400, 900), ("tablet", 820, 1100), ("phone", 400, 844))
    for shape, width, height in shapes:
        for shade in ("light", "dark"):
            for fit, setting in (("fits", faithful), ("differs", off)):
                if shape == "tablet" and (shade, fit) != ("light", "differs"):
                    continue
                browser.size(width, height, shade == "dark")
                browser.open(page, setting)
                browser.picture(f"{shape}-{shade}-{fit}.png")
                if shape == "phone" or fit == "differs":
                    browser.picture(f"{shape}-{shade}-{fit}-whole.png", whole=True)
        wide = browser.ask("document.documentElement.scrollWidth")
        if shape == "phone":  # the verdict must stay in sight over the sliders
            browser.ask("document.getElementById('controls').scrollIntoView(); 0")
            browser.picture("phone-dark-sliders.png")
        check(f"no sideways scrolling, {shape}", wide <= width, f"{wide} of {width} pixels")
    # small and old phones
    browser.size(320, 640)
    browser.open(page, off)
    wide = browser.ask("document.documentElement.scrollWidth")
    check("no sideways scrolling, 320 pixels", wide <= 320, wide)
    # in the middle of a test
    browser.size(1280, 800)
    browser.open(page, {**off, "n": 200})
    browser.ask("""new Promise((reached) => {
        document.querySelectorAll('#presets button')[3].click();
        const look = () => {
            const percent = Number(document.getElementById('bar').getAttribute('aria-valuenow'));
            if (percent >= 60 && percent < 100 || document.documentElement.dataset.state === 'done')
                reached(percent);
            else
                requestAnimationFrame(look);
        };
        requestAnimationFrame(look);
    })""")
    browser.picture("desktop-light-computing.png")
    print(f"pictures: {os.path.relpath(BUILD)}/*.png")


def main():
    names = ("chromium", "chromium-browser", "google-chrome")
    program = next((name for name in names if shutil.which(name)), None)
    for tool in ("make", "cc", "clang", "wasm-ld"):
        if not shutil.which(tool):
            missing(tool)
    if not program:
        missing("chromium")
    BUILD.mkdir(exist_ok=True)
    for stale in ("npksd.wasm", "npksd_wasm.js", "verdict"):
        (BUILD / stale).unlink(missing_ok=True)
    if not make("build/npksd_wasm.js", "build/verdict"):
        finish()
    fresh, kept = (BUILD / "npksd_wasm.js").read_text(), (HERE / "npksd_wasm.js").read_text()
    if fresh.splitlines()[1] == kept.splitlines()[1]:
        check("npksd_wasm.js is up to date", fresh == kept,
              "" if fresh == kept else "npksd.h or web.c changed: run make -C examples/web")
    else:
        print("note: npksd_wasm.js was made by another clang: " + kept.splitlines()[1].strip(" */"))
    for name in ("index.html", "style.css", "page.js"):
        shutil.copy(HERE / name, BUILD / name)

    with tempfile.TemporaryDirectory() as profile:
        browser = Chromium(program, profile)
        try:
            browser.size(1280, 800)
            for name, change in SETTINGS.items():
                compare(browser, HERE / "index.html", name, change)
            compare(browser, BUILD / "index.html", "too fast, rebuilt", SETTINGS["too fast"])
            interact(browser, HERE / "index.html")
            pictures(browser, HERE / "index.html")
            check("no errors on the console", not browser.errors, browser.errors or "")
            local = ("file:", "data:", "about:")
            outside = [url for url in browser.requests if not url.startswith(local)]
            check("nothing but files was asked for", browser.requests and not outside,
                  outside or "")
        except (RuntimeError, OSError) as error:
            check("the page runs in the browser", False, error)
        finally:
            browser.close()
    finish()


if __name__ == "__main__":
    main()
