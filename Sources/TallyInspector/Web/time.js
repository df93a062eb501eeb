// Transactions of all replicas, in the order in which they came here, and what each changed.
import { h, put, replace, notice, table } from "/dom.js";
import { get } from "/api.js";
import { house, recordLink, timeNode, replicaName, lane, plain } from "/words.js";
import { storePicker, unreadable } from "/picker.js";

export async function screen(body, parameters) {
  const store = Number(parameters.get("store") ?? 0), replica = parameters.get("replica") ?? "", before = parameters.get("before") ?? "";
  const content = h("div", {});
  put(body, h("h1", {}, "Time line"), storePicker("time", store), picker(store, replica), content);
  let known = null;
  const update = async () => {
    const bad = unreadable(store);
    if (bad) return replace(content, bad);
    const entries = await get("/api/timeline", { store, replica, before });
    replace(content, draw(entries, store, replica, known));
    known = new Set(entries.map(id));
  };
  await update();
  return update;
}

// A place in the log can be used again, a transaction never.
const id = entry => `${entry.by}:${entry.sequence}`;

function picker(store, replica) {
  const vector = Object.keys(house.stores[store]?.overview?.vector ?? {});
  return h("div", { class: "row" }, h("label", {}, "Replica", h("select", { key: "replica", onchange: event => { location.hash = `#/time?store=${store}&replica=${event.target.value}`; } },
    h("option", { value: "" }, "all"), vector.map(other => h("option", { value: other, selected: other === replica }, replicaName(other))))));
}

function draw(entries, store, replica, known) {
  if (!entries.length) return notice("", "No transactions here.");
  const replicas = [...new Set(entries.map(entry => entry.by))].sort((one, other) => replicaName(one).localeCompare(replicaName(other)));
  const rows = entries.map(entry => h("tr", { class: known && !known.has(id(entry)) ? "fresh" : null },
    replicas.map(other => h("td", { class: `track-cell ${lane(other)}` }, other === entry.by ? h("span", {}) : null)),
    h("th", { scope: "row", class: "dotname" }, `${replicaName(entry.by)} #${entry.sequence}`), h("td", {}, timeNode(entry.at)), h("td", {}, items(entry))));
  const columns = [...replicas.map(other => h("span", { class: `swatch ${lane(other)}`, title: replicaName(other) })), "Transaction", "Written", "Changed"];
  const oldest = entries[entries.length - 1].place;
  return [table("Transactions, the last to arrive first", columns.map(column => typeof column === "string" ? column : { title: [column, h("span", { class: "hidden" }, column.title)] }), rows, { showsCaption: true }),
    h("p", { class: "row" }, entries.length === 50 ? h("button", { type: "button", key: "older", onclick: () => { location.hash = `#/time?store=${store}&replica=${replica}&before=${oldest}`; } }, "Earlier") : null)];
}

function items(entry) {
  const shown = entry.items.map(item => h("div", {}, recordLink(item.name, `${entry.place} ${item.name} ${item.target ?? ""}`),
    item.relationship ? [` ${item.relationship} `, recordLink(item.target, `${entry.place} to ${item.target}`)] : null, " ",
    item.changes.length ? h("span", { class: item.changes.includes("deleted") ? "lost" : null }, plain(item.changes.slice(0, 8).join(", ")), item.changes.length > 8 ? ` and ${item.changes.length - 8} more` : "") : h("span", { class: "dim" }, "overwritten since")));
  const count = entry.itemCount;
  if (count === undefined || count === null) shown.push(h("div", { class: "dim" }, "and many more"));
  else if (count > entry.items.length) shown.push(h("div", { class: "dim" }, `and ${count - entry.items.length} more`));
  return shown;
}
