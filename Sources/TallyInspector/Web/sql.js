// Queries of one's own, which can only read, and what there is to ask for.
import { h, put, replace, notice, table } from "/dom.js";
import { post } from "/api.js";
import { house, plain, valueNode, storeName } from "/words.js";
import { storePicker, unreadable } from "/picker.js";

export async function screen(body, parameters) {
  const store = Number(parameters.get("store") ?? 0), type = parameters.get("type");
  const bad = unreadable(store);
  put(body, h("h1", {}, "SQL"), storePicker("sql", store), bad ?? [asked(store, type), tables(store)]);
  return null;
}

const quoted = name => `"${name.replaceAll('"', '""')}"`;

function asked(store, type) {
  const first = type ?? house.stores[store].overview.tables.find(entry => entry.isKnown)?.type;
  const sql = h("textarea", { rows: "5", id: "sql", spellcheck: "false", key: "sql" }, first ? `SELECT * FROM ${quoted(first)} LIMIT 50` : "SELECT 1");
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
  return [h("form", { id: "ask", onsubmit: run },
    h("label", { for: "sql", class: "dim" }, `A query of ${storeName(store)}; it can only read, for five seconds`), sql,
    h("p", {}, h("button", { type: "submit", key: "run" }, "Run"))), answer];
}

// The tables that an app has, with their columns.
function tables(store) {
  const rows = house.stores[store].overview.tables.filter(entry => entry.isKnown).map(entry => h("tr", {},
    h("th", { scope: "row" }, plain(entry.type)), h("td", { class: "mono" }, plain(["id", ...entry.columns].join(", ")))));
  return rows.length ? [h("h2", {}, "Tables"), table(`Tables of ${storeName(store)}`, ["Table", "Columns"], rows)] : null;
}
