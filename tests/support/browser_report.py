"""The report page in a headless Chromium: `make test-report`.

The browser is $PILOTLIGHT_CHROMIUM, or `chromium` or another of its names on the path. It is large, so `make test` does
not need it: that checks the page's structure. A script at the end of the page clicks and looks, and the page as it is
then tells what it found.
"""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pilotlight.report.html import render_report
from support.report_runs import run

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
DARK = "--blink-settings=preferredColorScheme=0"
CATCH = "<script>window.failures = []; window.onerror = (text) => { failures.push(String(text)); };</script>"
HELPERS = """
const node = (id) => document.querySelector(`.canvas .node[data-id="${id}"]`);
const row = (step) => document.querySelector(`#operators tr[data-step="${step}"]`);
const box = (name) => document.querySelector(`.box[data-buffer="${name}"]`);
const click = (element) => element.dispatchEvent(new MouseEvent("click", { bubbles: true }));
const key = (element, name) => element.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true }));
const chosen = () => ({
  rows: all("#operators tr[aria-selected=true]").map((one) => one.dataset.step),
  nodes: all(".canvas .node.on").map((one) => one.dataset.id),
  boxes: all(".box.on").map((one) => one.dataset.buffer),
  panel: document.querySelector("#panel").textContent,
});
const width = (name) => Number(box(name).getAttribute("width"));
const press = (id) => click(document.querySelector(id));
const meet = (a, b) =>
  a.left < b.right - 5 && b.left < a.right - 5 && a.top < b.bottom - 5 && b.top < a.bottom - 5;
const overlaps = () => {
  const places = all(".canvas .node").map((one) => one.getBoundingClientRect());
  return places.filter((a) => places.some((b) => a !== b && meet(a, b))).length;
};
const seen = () => all(".canvas .node").map((one) => one.dataset.id);
"""


def browser() -> str:
    found = os.environ.get("PILOTLIGHT_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.fail("there is no Chromium: apt-get install chromium, or name one with PILOTLIGHT_CHROMIUM")
    return found


def look(folder: Path, data: dict[str, Any], script: str, *flags: str) -> dict[str, Any]:
    """What `script`, the body of a function, returns in the page of a run."""
    ask = (f"<script>{HELPERS}\nconst told = (() => {{ {script} }})();\nconst pre = document.createElement('pre');\n"
           "pre.id = 'told'; pre.textContent = JSON.stringify({ told, failures }); document.body.append(pre);</script>")
    file = folder / "page.html"
    file.write_text(render_report(data).replace("<head>", f"<head>{CATCH}").replace("</body>", f"{ask}</body>"))
    command = [browser(), "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'profile'}",
               "--window-size=1400,2000", "--virtual-time-budget=2000", *flags, "--dump-dom", file.as_uri()]
    page = subprocess.run(command, capture_output=True, text=True, timeout=120).stdout
    match = re.search(r'<pre id="told">(.*?)</pre>', page, re.DOTALL)
    assert match, page[-2000:]
    found = json.loads(html.unescape(match[1]))
    assert found["failures"] == []
    told: dict[str, Any] = found["told"]
    return told


def test_small_and_large_networks_are_drawn_whole(tmp_path: Path) -> None:
    small = look(tmp_path, run(1), "return { seen: seen(), overlaps: overlaps(), edges: all('.edge').length };")
    assert set(small["seen"]) == {"in0", "step0", "step1", "step2", "step3", "out0"}
    assert small["overlaps"] == 0 and small["edges"] >= 7
    large = look(tmp_path, run(33), """
      const first = seen(), laps = overlaps();
      press('#open-all');
      const open = seen(), open_laps = overlaps();
      press('#close-all');
      return { first, laps, open, open_laps, closed: seen() };""")
    assert len(large["first"]) <= 36 and large["laps"] == large["open_laps"] == 0
    assert {f"step{k}" for k in range(100)} <= set(large["open"])
    assert large["closed"] == ["in0", "step0", "group block", "out0"]


def test_groups_open_and_close_with_mouse_and_keys(tmp_path: Path) -> None:
    told = look(tmp_path, run(33), """
      press('#close-all');
      key(node('group block'), 'Enter');
      const open = seen().length;
      click(node('group block.3'));
      const inside = seen().filter((id) => id.startsWith('step'));
      key(document.querySelector('.head[data-id="group block.3"]'), ' ');
      return { open, inside, again: seen().filter((id) => id.startsWith('step')) };""")
    assert told["open"] == 36 and told["inside"] == ["step0", "step10", "step11", "step12"]
    assert told["again"] == ["step0"]


def test_a_choice_is_shown_everywhere(tmp_path: Path) -> None:
    told = look(tmp_path, run(33), """
      const result = {};
      click(node('step0')); result.network = chosen();
      click(row(50)); result.operators = chosen();
      click(box('b7')); result.arena = chosen();
      key(row(8), 'Enter'); result.keys = chosen();
      key(document.body, 'Escape'); result.none = chosen();
      return result;""")
    for place, step in (("network", 0), ("operators", 50), ("arena", 7), ("keys", 8)):
        found = told[place]
        assert (found["rows"], found["nodes"], found["boxes"]) == ([str(step)], [f"step{step}"], [f"b{step}"])
        assert f"step {step}," in found["panel"] and "instructions" in found["panel"]
    assert told["none"]["rows"] == told["none"]["nodes"] == told["none"]["boxes"] == []


def test_operators_are_sorted_and_filtered(tmp_path: Path) -> None:
    data = run(4)
    for number, counted in enumerate(data["operators"]):
        counted["instructions"] = (number * 7) % 13 + 1
    told = look(tmp_path, data, """
      const steps = () => [...document.querySelector('#operators').tBodies[0].rows].filter((one) => !one.hidden)
        .map((one) => Number(one.dataset.step));
      const head = (text) => all('#operators th button').find((one) => one.textContent === text);
      const result = { start: steps() };
      click(head('instructions')); result.most = steps();
      click(head('instructions')); result.least = steps();
      click(head('operator')); result.name = steps();
      document.querySelector('#filter').value = 'block.2 linear';
      document.querySelector('#filter').dispatchEvent(new Event('input'));
      result.filtered = steps(); result.shown = document.querySelector('#shown').textContent;
      document.querySelector('#filter').value = '';
      document.querySelector('#filter-group').value = 'add';
      document.querySelector('#filter-group').dispatchEvent(new Event('change'));
      result.adds = steps();
      return result;""")
    counts = [row["instructions"] for row in data["operators"]]
    assert told["start"] == list(range(13))
    assert [counts[k] for k in told["most"]] == sorted(counts, reverse=True)
    assert [counts[k] for k in told["least"]] == sorted(counts)
    assert told["name"][:4] == [3, 6, 9, 12] and told["filtered"] == [8] and "1 of 13" in told["shown"]
    assert sorted(told["adds"]) == [3, 6, 9, 12]


def test_the_arena_zooms_with_buttons_keys_wheel_and_drag(tmp_path: Path) -> None:
    told = look(tmp_path, run(33), """
      const svg = document.querySelector('.arena'), at = () => Number(box('b60').getAttribute('x'));
      const place = svg.getBoundingClientRect();
      const mouse = (type, x, y) => svg.dispatchEvent(new PointerEvent(type,
        { clientX: place.left + x, clientY: place.top + y, bubbles: true, button: 0, buttons: 1, pointerId: 1 }));
      svg.setPointerCapture = () => {};
      const result = { whole: [width('b60'), at()] };
      press('#zoom-in'); result.button = width('b60');
      key(svg, '+'); result.key = width('b60');
      const before = at(); key(svg, 'ArrowRight'); result.moved = before - at();
      key(svg, '0'); result.reset = [width('b60'), at()];
      svg.dispatchEvent(new WheelEvent('wheel', { deltaY: -400, clientX: place.left + 600, clientY: place.top + 200 }));
      result.plain = width('b60');
      svg.dispatchEvent(new WheelEvent('wheel',
        { deltaY: -400, ctrlKey: true, clientX: place.left + 600, clientY: place.top + 200 }));
      result.wheel = width('b60');
      const start = at(); mouse('pointerdown', 600, 200); mouse('pointermove', 500, 200); result.drag = start - at();
      click(svg); press('#zoom-reset'); click(row(60)); press('#zoom-chosen');
      result.chosen = [width('b60'), at()];
      result.sizes = all('.sizes text').map((one) => one.textContent);
      return result;""")
    wide = told["whole"][0]
    assert told["button"] == pytest.approx(1.5 * wide) and told["key"] == pytest.approx(2.25 * wide)
    assert told["moved"] > 0 and told["reset"] == told["whole"] and told["plain"] == wide
    assert told["wheel"] == pytest.approx(2.2255 * wide, rel=1e-3) and told["drag"] > 50
    assert told["chosen"][0] > 2 * wide and 72 <= told["chosen"][1] <= 1108 and len(told["sizes"]) >= 3


def test_nothing_is_fetched_and_dark_is_dark(tmp_path: Path) -> None:
    ask = """return { fetched: performance.getEntriesByType('resource').length,
      page: getComputedStyle(document.body).backgroundColor, ink: getComputedStyle(document.body).color };"""
    light, dark = look(tmp_path, run(2), ask), look(tmp_path, run(2), ask, DARK)
    assert light["fetched"] == dark["fetched"] == 0

    def bright(colour: str) -> int:
        return sum(map(int, re.findall(r"\d+", colour)))

    assert bright(light["page"]) > 700 > 150 > bright(light["ink"])
    assert bright(dark["page"]) < 150 < 600 < bright(dark["ink"])
