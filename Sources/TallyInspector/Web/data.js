// The rows of a type: seen or hidden, filtered, with what other stores lack marked; and queries of one's own.
import { h, replace, notice, table } from "/dom.js";
import { page, post, address } from "/api.js";
import { house, plain, recordLink, sentence, valueNode, presenceBadge, storeName, countText } from "/words.js";
import { storePicker, unreadable } from "/picker.js";

export async function screen(body, parameters) {
  const store = Number(parameters.get("store") ?? 0);
  const overview = house.stores[store]?.overview;
  if (!overview) {
    body.append(h("h1", {}, "Data"), storePicker("data", store) ?? "", unreadable(store));
    return null;
  }
  const type = parameters.get("type") ?? overview.tables[0]?.type;
  // Of a type that this app does not have there is no table: all of it is hidden.
  const isKnown = overview.tables.find(entry => entry.type === type)?.isKnown ?? true;
  const state = { store, type, isKnown, hidden: parameters.get("hidden") === "1" || !isKnown, text: parameters.get("text") ?? "", column: Number(parameters.get("column") ?? 0), after: parameters.get("after") ?? "" };
  const go = change => {
    const { text, hidden, column, after, isKnown, ...rest } = { ...state, after: "", ...change };
    location.hash = address("#/data", { ...rest, text, after, hidden: hidden ? 1 : "", column: column || "" });
  };
  body.append(h("h1", {}, type ? `${type} in ${overview.name}` : "Data"), bar(state, overview, go));
  if (!type) return void body.append(notice("", "The store is empty."));
  const rows = h("section", { "aria-label": "Rows" });
  body.append(rows, console_(store));
  const update = async () => {
    try {
      const found = unreadable(store) ?? await draw(state, go), { warning } = house.stores[store];
      replace(rows, warning ? notice("bad", `Careful: ${warning}.`) : null, found);
    } catch (error) {
      replace(rows, notice("bad", error.message));
    }
  };
  await update();
  return update;
}

function bar(state, overview, go) {
  const pick = (label, options, value, change) => h("label", {}, label, h("select", { key: `pick ${label}`, onchange: event => go(change(event.target.value)) },
    options.map(([name, text]) => h("option", { value: name, selected: name === value }, text))));
  const filter = h("input", { type: "search", value: state.text, key: "filter", spellcheck: "false", autocomplete: "off" });
  return h("div", { class: "row" },
    house.stores.length > 1 ? pick("Store", house.stores.map((store, number) => [String(number), store.name]), String(state.store), value => ({ store: Number(value), column: 0 })) : null,
    pick("Type", overview.tables.map(entry => [entry.type, `${entry.type} (${countText(entry.rows, entry.isExact)})`]), state.type, value => ({ type: value, column: 0, text: "", hidden: state.isKnown && state.hidden })),
    h("div", { role: "group", "aria-label": "Which records" },
      h("button", { type: "button", key: "seen", disabled: !state.isKnown, "aria-pressed": String(!state.hidden), onclick: () => go({ hidden: false }) }, "Shown"), " ",
      h("button", { type: "button", key: "hidden", "aria-pressed": String(state.hidden), onclick: () => go({ hidden: true }) }, "Not shown")),
    h("form", { class: "row", onsubmit: event => { event.preventDefault(); go({ text: filter.value.trim() }); } },
      h("label", {}, "Filter", filter), h("button", { type: "submit" }, "Filter")));
}

async function draw(state, go) {
  const found = await page("/api/rows", { store: state.store, type: state.type, text: state.text, after: state.after, column: state.column, hidden: state.hidden ? 1 : "" },
    { place: "after", entries: "rows" });
  const columns = ["Record", ...found.columns, ...(state.hidden ? ["Why"] : []), ...(house.stores.length > 1 ? ["Lacks this state"] : [])];
  const rows = found.rows.map(row => h("tr", { class: `pick${row.hidden ? " gone" : ""}` },
    h("th", { scope: "row" }, recordLink(row.name)), row.values.map(value => h("td", {}, valueNode(value))),
    state.hidden ? h("td", { class: "words" }, row.hidden ? [presenceBadge(row.hidden), " ", sentence(row.hidden.sentence)] : null) : null,
    house.stores.length > 1 ? h("td", {}, row.lackedBy.length ? h("span", { class: "mark" }, row.lackedBy.map(storeName).join(", ")) : "–") : null));
  const more = found.columnCount > found.columns.length ? columnPager(state, found, go) : null;
  if (!rows.length) {
    return [more, notice("", found.next ? "Nothing so far; there are many rows left to look through." : state.text ? "No row has this text." : state.hidden ? "Nothing is hidden." : "There are no rows."), pager(state, found, go)];
  }
  return [more, table(`${state.type}, ${state.hidden ? "not shown" : "shown"}, the newest first`, columns, rows, { class: found.columns.length > 6 ? "wide" : null, showsCaption: true }), pager(state, found, go)];
}

function columnPager(state, found, go) {
  const last = Math.min(state.column + found.columns.length, found.columnCount);
  return h("p", { class: "row" }, `Columns ${state.column + 1} to ${last} of ${found.columnCount}`,
    h("button", { type: "button", class: "small", key: "columns back", disabled: state.column === 0, onclick: () => go({ column: Math.max(0, state.column - 30), after: state.after }) }, "Before"),
    h("button", { type: "button", class: "small", key: "columns on", disabled: last === found.columnCount, onclick: () => go({ column: last, after: state.after }) }, "After"));
}

const pager = (state, found, go) => h("p", { class: "row" },
  state.after ? h("button", { type: "button", key: "newest", onclick: () => go({}) }, "Newest") : null,
  found.next ? h("button", { type: "button", key: "older", onclick: () => go({ after: found.next }) }, "Older") : null);

function console_(store) {
  const sql = h("textarea", { rows: "3", id: "sql", spellcheck: "false", key: "sql" });
  const answer = h("div", { "aria-live": "polite" });
  // A query whose answer nobody will see is given up, and the server ends it.
  let running = null;
  window.addEventListener("hashchange", () => running?.abort(), { once: true });
  const run = async event => {
    event.preventDefault();
    running?.abort();
    const mine = running = new AbortController();
    try {
      const result = await post("/api/query", { store, sql: sql.value }, mine.signal);
      const rows = result.rows.map(row => h("tr", {}, row.map(value => h("td", {}, valueNode(value)))));
      replace(answer, result.rows.length ? table("Result of the query", result.columns.map(plain), rows) : notice("", "No rows."), result.hasMore ? notice("", "There are more rows.") : null);
    } catch (error) {
      if (!mine.signal.aborted) replace(answer, notice("bad", error.message));
    }
  };
  return h("details", {}, h("summary", {}, "SQL"), h("form", { onsubmit: run },
    h("label", { for: "sql", class: "dim" }, `A query of ${storeName(store)}; it can only read, for five seconds`), sql,
    h("p", {}, h("button", { type: "submit", key: "run" }, "Run"))), answer);
}
