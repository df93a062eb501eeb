"""Measures the inspector on a store, in a real browser.

  python3 -B figures.py TOOL STORE TYPE TEXT

TYPE is one of the store's types, and TEXT something that few of its records hold.
"""
import json
import os
import statistics
import sys
import time
import urllib.parse

import chromium
import house


def memory(process, what="VmHWM"):
    with open(f"/proc/{process}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) // 1024 for line in file if line.startswith(what))


def processor(process):
    with open(f"/proc/{process}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Place:
    """Where the tool runs."""

    def __init__(self, program):
        self.program, self.folder = os.path.abspath(program), os.getcwd()


def main():
    tool, store, kind, text = sys.argv[1:]
    inspected = house.Inspected(Place(tool), os.path.abspath(store))
    process = inspected.process.pid
    # The rest of what it has is the program itself and pages of the store's file, which the system shares and takes back.
    print(f"memory of its own before anybody looks: {memory(process, 'RssAnon')} MiB")
    browser = chromium.Browser(chromium.find())
    try:
        browser.page().close()
        page = browser.page()
        page.go(inspected.address)
        page.wait("document.querySelector('#main')?.dataset.ready")
        times = []
        for _ in range(7):
            page.run("delete document.querySelector('#main').dataset.ready")
            page.ask("Page.reload", ignoreCache=True)
            page.wait("document.querySelector('#main')?.dataset.ready && (window.ready ??= performance.now())")
            times.append(page.run("window.ready"))
        print(f"opening to the first screen: {statistics.median(times):.0f} ms, at most {max(times):.0f} ms")
        name = page.run(f"fetch('/api/rows?store=0&type={kind}&limit=1').then(r => r.json()).then(r => r.rows[0].name)")
        addresses = {
            "stores": "/api/stores", "rows": f"/api/rows?store=0&type={kind}", "a search, the first step": f"/api/search?q={text}",
            "a search, the longest step": f"/api/search?q={text}&from=0:0:", "record": "/api/record?name=" + urllib.parse.quote(name),
            "conflicts": "/api/conflicts?store=0", "timeline": "/api/timeline?store=0", "storage": "/api/storage?store=0", "peers": "/api/peers",
        }
        for what, address in addresses.items():
            times = page.run(f"""(async () => {{ const times = []; for (let i = 0; i < 15; i += 1) {{ const begun = performance.now();
              const answer = await fetch({json.dumps(address)}); await answer.text(); times.push(performance.now() - begun); }} return times; }})()""")
            print(f"{what}: {statistics.median(times):.1f} ms, at most {max(times):.1f} ms")
        for address in ("#/search", f"#/data?store=0&type={kind}", "#/record?name=" + urllib.parse.quote(name), "#/time?store=0", "#/storage?store=0", "#/conflicts?store=0", "#/peers"):
            page.run("delete document.querySelector('#main').dataset.ready")
            took = page.run(f"""new Promise(done => {{ const begun = performance.now(); location.hash = {json.dumps(address)};
              const look = new MutationObserver(() => {{ if (document.querySelector('#main').dataset.ready) {{ look.disconnect(); done(performance.now() - begun); }} }});
              look.observe(document.querySelector('#main'), {{attributes: true}}); }})""")
            print(f"screen {address[:40]}: {took:.0f} ms")
        begun = time.time()
        page.run(f"location.hash = '#/search?q={text}'")
        page.wait("document.querySelector('[data-done]')")
        print(f"a search through everything: {time.time() - begun:.1f} s")
        print(f"memory of its own after all of this: {memory(process, 'RssAnon')} MiB, {memory(process)} MiB at most with the program")
        page.close()
        before, begun = processor(process), time.time()
        while time.time() - begun < 5:
            time.sleep(1)
        print(f"processor time while nobody looks: {(processor(process) - before) / (time.time() - begun) * 100:.2f} %")
    finally:
        browser.close()
        inspected.close()


if __name__ == "__main__":
    main()
