// The rows of a type: seen or hidden, filtered, sorted, with what other stores lack marked.
import { h, put, replace, notice, table } from "/dom.js";
import { page, address } from "/api.js";
import { house, recordLink, sentence, valueNode, presenceBadge, storeName, countText } from "/words.js";
import { storePicker, unreadable } from "/picker.js";

export async function screen(body, parameters) {
  const store = Number(parameters.get("store") ?? 0);
  const overview = house.stores[store]?.overview;
  if (!overview) {
    put(body, h("h1", {}, "Data"), storePicker("data", store), unreadable(store));
    return null;
  }
  const type = parameters.get("type") ?? overview.tables[0]?.type;
  // Of a type that this app does not have there is no table: all of it is hidden.
  const isKnown = overview.tables.find(entry => entry.type === type)?.isKnown ?? true;
  const state = { store, type, isKnown, hidden: parameters.get("hidden") === "1" || !isKnown, text: parameters.get("text") ?? "", column: Number(parameters.get("column") ?? 0), after: parameters.get("after") ?? "",
    sort: parameters.get("sort") ?? "", descending: parameters.get("descending") === "1" };
  const go = change => {
    const { text, hidden, column, after, isKnown, sort, descending, ...rest } = { ...state, after: "", ...change };
    location.hash = address("#/data", { ...rest, text, after, hidden: hidden ? 1 : "", column: column || "", sort, descending: sort && descending ? 1 : "" });
  };
  put(body, h("h1", {}, type ? `${type} in ${overview.name}` : "Data"), bar(state, overview, go));
  if (!type) return void put(body, notice("", "The store is empty."));
  const rows = h("section", { "aria-label": "Rows" });
  put(body, rows);
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
    house.stores.length > 1 ? pick("Store", house.stores.map((store, number) => [String(number), store.name]), String(state.store), value => ({ store: Number(value), column: 0, sort: "" })) : null,
    pick("Type", overview.tables.map(entry => [entry.type, `${entry.type} (${countText(entry.rows, entry.isExact)})`]), state.type, value => ({ type: value, column: 0, text: "", sort: "", hidden: state.isKnown && state.hidden })),
    h("div", { role: "group", "aria-label": "Which records" },
      h("button", { type: "button", key: "seen", disabled: !state.isKnown, "aria-pressed": String(!state.hidden), onclick: () => go({ hidden: false }) }, "Shown"), " ",
      h("button", { type: "button", key: "hidden", "aria-pressed": String(state.hidden), onclick: () => go({ hidden: true }) }, "Not shown")),
    h("form", { class: "row", onsubmit: event => { event.preventDefault(); go({ text: filter.value.trim() }); } },
      h("label", {}, "Filter", filter), h("button", { type: "submit" }, "Filter")),
    h("a", { href: address("#/sql", { store: state.store, type: state.isKnown ? state.type : "" }), key: "ask" }, "Ask in SQL"));
}

async function draw(state, go) {
  const found = await page("/api/rows", { store: state.store, type: state.type, text: state.text, after: state.after, column: state.column, hidden: state.hidden ? 1 : "",
    sort: state.hidden ? "" : state.sort, descending: state.descending ? 1 : "" },
    { place: "after", entries: "rows" });
  const heading = (column, title = column) => state.hidden ? title : sortable(column, title, state, go);
  const columns = [heading("id", "Record"), ...found.columns.map(column => heading(column)), ...(state.hidden ? ["Why"] : []), ...(house.stores.length > 1 ? ["Lacks this state"] : [])];
  const rows = found.rows.map(row => h("tr", { class: `pick${row.hidden ? " gone" : ""}` },
    h("th", { scope: "row" }, recordLink(row.name)), row.values.map((value, place) => h("td", {}, valueNode(value, { store: state.store, name: row.name, field: found.columns[place] }))),
    state.hidden ? h("td", { class: "words" }, row.hidden ? [presenceBadge(row.hidden), " ", sentence(row.hidden.sentence)] : null) : null,
    house.stores.length > 1 ? h("td", {}, row.lackedBy.length ? h("span", { class: "mark" }, row.lackedBy.map(storeName).join(", ")) : "–") : null));
  const more = found.columnCount > found.columns.length ? columnPager(state, found, go) : null;
  if (!rows.length) {
    return [more, notice("", found.next ? "Nothing so far; there are many rows left to look through." : state.text ? "No row has this text." : state.hidden ? "Nothing is hidden." : "There are no rows."), pager(state, found, go)];
  }
  return [more, table(`${state.type}, ${state.hidden ? "not shown" : "shown"}, ${order(state)}`, columns, rows, { class: found.columns.length > 6 ? "wide" : null, showsCaption: true }), pager(state, found, go)];
}

const order = state => state.hidden || !state.sort ? "the newest first" : `by ${state.sort === "id" ? "record" : state.sort}, the ${state.descending ? "greatest" : "least"} first`;

// A column's heading: pressed once it sorts by the column, twice the other way round, and then the newest come first.
function sortable(column, title, state, go) {
  const isSorted = state.sort === column;
  const next = !isSorted ? { sort: column, descending: false } : state.descending ? { sort: "", descending: false } : { descending: true };
  return { sort: isSorted ? (state.descending ? "descending" : "ascending") : null,
    title: h("button", { type: "button", class: "heading", key: `sort ${column}`, onclick: () => go(next) }, title, isSorted ? (state.descending ? " ▼" : " ▲") : "") };
}

function columnPager(state, found, go) {
  const last = Math.min(state.column + found.columns.length, found.columnCount);
  return h("p", { class: "row" }, `Columns ${state.column + 1} to ${last} of ${found.columnCount}`,
    h("button", { type: "button", class: "small", key: "columns back", disabled: state.column === 0, onclick: () => go({ column: Math.max(0, state.column - 30), after: state.after }) }, "Before"),
    h("button", { type: "button", class: "small", key: "columns on", disabled: last === found.columnCount, onclick: () => go({ column: last, after: state.after }) }, "After"));
}

const pager = (state, found, go) => h("p", { class: "row" },
  state.after ? h("button", { type: "button", key: "newest", onclick: () => go({}) }, state.sort && !state.hidden ? "First" : "Newest") : null,
  found.next ? h("button", { type: "button", key: "older", onclick: () => go({ after: found.next }) }, state.sort && !state.hidden ? "Next" : "Older") : null);
