// Starts the page: tabs, routes, the search field, and what is live.
import { h, put, replace } from "/dom.js";
import { get, post, unreachable } from "/api.js";
import { house, settle } from "/words.js";

const screens = {
  search: ["Search", () => import("/search.js")], data: ["Data", () => import("/data.js")],
  record: ["Record", () => import("/record.js")], sql: ["SQL", () => import("/sql.js")], conflicts: ["Conflicts", () => import("/conflicts.js")],
  peers: ["Peers", () => import("/peers.js")], time: ["Time", () => import("/time.js")],
  storage: ["Storage", () => import("/storage.js")], log: ["Log", () => import("/log.js")],
  report: ["Report", () => import("/report.js")], compare: ["Compare", () => import("/compare.js")],
};
const main = document.getElementById("main");
const live = document.getElementById("live");
const query = document.getElementById("query");
// The screen that is shown: its name, what it was asked for, and how it is brought up to date.
let shown = { name: "", parameters: new URLSearchParams(), update: null };
const remembered = {};

function route() {
  const [path, rest] = location.hash.replace(/^#\/?/, "").split("?");
  const name = Object.hasOwn(screens, path) ? path : "search";
  return { name, parameters: new URLSearchParams(rest ?? "") };
}

function drawTabs() {
  // A conflict that two stores have noted is one.
  const conflicts = house.conflicts > 0 ? `${house.conflicts}${house.isConflictsExact ? "" : "+"}` : null;
  replace(document.getElementById("tabs"), Object.entries(screens).map(([name, [title]]) => {
    if (name === "compare" && house.stores.length < 2) return null;
    const count = name === "conflicts" && conflicts ? h("span", { class: "count" }, conflicts) : null;
    const href = remembered[name] ?? `#/${name}`;
    return h("li", {}, h("a", { href, key: `tab ${name}`, "aria-current": name === shown.name ? "page" : null }, title, count));
  }));
}

export function failed(error) {
  return h("div", { class: "notice bad", role: "alert" }, h("strong", {}, "This cannot be shown. "), error.message ?? String(error));
}

async function load(name) {
  try {
    return await screens[name][1]();
  } catch (error) {
    throw error instanceof TypeError ? unreachable() : error;
  }
}

async function show() {
  const { name, parameters } = route();
  const isOther = name !== shown.name;
  shown = { name, parameters, update: null };
  if (parameters.size) remembered[name] = location.hash;
  drawTabs();
  document.title = `${screens[name][0]} · Tally inspector`;
  const mine = shown;
  try {
    await overview;
    const { screen } = await load(name);
    if (mine !== shown) return;
    const body = h("div", {});
    mine.update = await screen(body, parameters);
    if (mine !== shown) return;
    replace(main, body);
    if (isOther) main.scrollTo?.(0, 0);
  } catch (error) {
    if (mine === shown) replace(main, failed(error));
  }
  main.dataset.ready = name;
}

// One update at a time, and another after it if something happened meanwhile.
let updating = false, again = false;
async function update() {
  if (updating) return void (again = true);
  updating = true;
  do {
    again = false;
    const mine = shown;
    try {
      await refreshStores();
      if (mine.update) await mine.update();
      else if (mine === shown && main.dataset.ready === mine.name) await show();
      main.dataset.updates = String(Number(main.dataset.updates ?? 0) + 1);
    } catch (error) {
      if (mine === shown) replace(main, failed(error));
      mine.update = null;
    }
  } while (again);
  updating = false;
}

async function refreshStores() {
  settle(await get("/api/stores"));
  drawTabs();
}

async function drawControls() {
  const box = document.getElementById("controls");
  const controls = await get("/api/controls");
  const groups = [...new Set(controls.map(control => control.group))];
  box.hidden = controls.length === 0;
  replace(box, groups.map(group => h("fieldset", {}, h("legend", {}, group),
    controls.filter(control => control.group === group).map(control => h("button", {
      key: `control ${control.id}`, type: "button", class: "small",
      role: control.isOn === undefined || control.isOn === null ? null : "switch", "aria-checked": control.isOn === undefined || control.isOn === null ? null : String(control.isOn),
      onclick: async () => {
        try {
          await post("/api/controls", { id: control.id, isOn: !control.isOn });
          await drawControls();
        } catch (error) {
          await drawControls();
          put(box, failed(error));
        }
      },
    }, control.label)))));
}

// A browser has six connections to a host, for all of its tabs together: one that nobody sees gives its own up, and
// brings itself up to date when it is looked at again.
let events = null, wasLost = false;
function follow() {
  if (document.hidden || events) return;
  const source = events = new EventSource("/api/events");
  const say = (className, text) => {
    live.className = `live ${className}`;
    live.textContent = text;
  };
  events.addEventListener("hello", () => {
    say("on", "live");
    if (wasLost) update();
    wasLost = false;
  });
  events.addEventListener("change", update);
  events.addEventListener("status", () => { if (["peers", "log", "search"].includes(shown.name)) update(); });
  events.addEventListener("controls", () => void drawControls());
  events.onerror = () => {
    if (source !== events) return;
    wasLost = true;
    // The browser tries again by itself, but not after a refusal: then whoever looks at the tab again does.
    const isRefused = source.readyState === EventSource.CLOSED;
    if (isRefused) events = null;
    say("off", isRefused ? "not let in" : "not connected");
  };
}

document.addEventListener("visibilitychange", () => {
  if (!document.hidden) return follow();
  events?.close();
  [events, wasLost] = [null, true];
});

document.getElementById("find").addEventListener("submit", event => {
  event.preventDefault();
  const text = query.value.trim();
  location.hash = text.includes("|~|") ? `#/record?name=${encodeURIComponent(text)}` : `#/search?q=${encodeURIComponent(text)}`;
});
let typing;
query.addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(() => {
    const target = `#/search?q=${encodeURIComponent(query.value.trim())}`;
    if (shown.name === "search") {
      history.replaceState(null, "", target);
      show();
    } else if (query.value.trim()) {
      location.hash = target;
    }
  }, 120);
});
document.addEventListener("keydown", event => {
  const isTyping = event.target.closest?.("input, textarea, select");
  if (event.key === "/" && !isTyping && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    query.focus();
    query.select();
  }
});
window.addEventListener("hashchange", show);

const overview = refreshStores();
overview.then(() => { if (house.hasControls) void drawControls(); }, () => {});
query.value = route().name === "search" ? route().parameters.get("q") ?? "" : "";
follow();
// The other screens are fetched after the first, so that they are there when the server is not. What fails here is told
// when the screen is opened.
show().then(() => Promise.allSettled(Object.keys(screens).map(load)));
