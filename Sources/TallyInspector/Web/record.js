// The life of one record in each store: why it shows or not, who wrote what, what lost, who has seen it.
import { h, put, replace, notice, table } from "/dom.js";
import { get, post, address } from "/api.js";
import { house, plain, recordLink, sentence, valueNode, fileNode, stampNode, dotNode, presenceBadge, presenceKind, replicaName, storeName } from "/words.js";
import { lanes } from "/lanes.js";

export async function screen(body, parameters) {
  const name = parameters.get("name");
  if (!name) {
    put(body, h("h1", {}, "Record"), notice("", "Search for a record above, or pick one from Data."));
    return null;
  }
  const content = h("div", {});
  const problems = h("div", { "aria-live": "assertive" });
  put(body, content, problems);
  const act = async (path, wish) => {
    try {
      await post(path, wish);
      replace(problems);
      await update();
    } catch (error) {
      replace(problems, notice("bad", error.message));
    }
  };
  const update = async () => replace(content, draw(await get("/api/record", { name }), act));
  await update();
  return update;
}

function draw(record, act) {
  const title = record.stores.find(report => report.title)?.title;
  return [
    h("h1", {}, title ? [h("bdi", {}, plain(title)), " "] : null, h("span", { class: "name dim" }, plain(record.name))),
    h("div", { class: "cards" }, record.stores.map((report, store) => presence(record, report, store, act))),
    fields(record, act), lanes(record), links(record), seen(record),
  ];
}

function presence(record, report, store, act) {
  const can = house.allowsWrites;
  return h("section", { class: "card", "aria-label": storeName(store) }, h("h2", {}, storeName(store), " ", presenceBadge(report.presence)),
    h("p", { class: `notice ${presenceKind(report.presence)}` }, sentence(report.presence.sentence)),
    report.presence.owners.length ? h("p", {}, "Owners: ", report.presence.owners.map((owner, place) => [place ? " ← " : "", recordLink(owner)])) : null,
    report.presence.gaveWayTo ? h("p", {}, "It gave way to ", recordLink(report.presence.gaveWayTo)) : null,
    report.existence ? h("p", { class: "dim" }, "Inserted ", stampNode(report.existence)) : null,
    report.deletes.map(deletion => h("p", { class: "dim" }, "Deleted ", stampNode(deletion.written),
      report.presence.isVisible && report.presence.code === "visible" ? ", which an edit or restore has outlived" : "")),
    report.emptying ? h("p", { class: "dim" }, "Content removed for good ", stampNode(report.emptying.written)) : null,
    report.seedVersions.length ? h("p", { class: "dim" }, `Default data, versions ${report.seedVersions.join(", ")}`) : null,
    can && report.presence.code === "deleted" && !report.presence.emptying ? h("button", { type: "button", key: `restore ${store}`, onclick: () => act("/api/record/restore", { store, name: record.name }) }, "Restore") : null,
    can && report.presence.isVisible ? h("button", { type: "button", key: `delete ${store}`, onclick: () => act("/api/record/delete", { store, name: record.name }) }, "Delete") : null);
}

// One line a field; with several stores one column each, and what differs is marked.
function fields(record, act) {
  const names = [...new Set(record.stores.flatMap(report => report.fields.map(field => field.field)))].sort();
  if (!names.length) return null;
  const many = record.stores.length > 1;
  const columns = ["Field", ...record.stores.flatMap((report, store) => many ? [storeName(store), "Written"] : ["Value", "Written"]), "Lost"];
  const rows = names.map(name => {
    const cells = record.stores.map(report => report.fields.find(field => field.field === name));
    const differs = cells.some(cell => JSON.stringify(cell?.written) !== JSON.stringify(cells[0]?.written));
    return h("tr", { class: differs ? "differs" : null }, h("th", { scope: "row" }, name),
      cells.map((cell, store) => cell ? [
        h("td", {}, valueNode(cell.value, { store, name: record.name, field: name, written: cell.written.at }), fileNode(cell.file, { store, name: cell.value.text }), cell.hiddenBecause && record.stores[store].presence.isVisible ? h("div", { class: "dim" }, `not shown: ${cell.hiddenBecause}`) : null),
        h("td", {}, stampNode(cell.written)),
      ] : [h("td", { class: "dim" }, "–"), h("td", {}, "")]),
      h("td", {}, lost(record, name, act)));
  });
  return [h("h2", {}, "Fields"), table("Fields of the record", columns, rows)];
}

// What lost, once for all stores that list it. It is taken back in the first of them, and the others hear of it by sync:
// as two edits, which had not seen each other, it would be a conflict again.
function lost(record, field, act) {
  const entries = new Map();
  record.stores.forEach((report, store) => report.conflicts.filter(conflict => conflict.field === field).forEach(conflict => {
    const entry = entries.get(conflict.id) ?? { conflict, stores: [] };
    entry.stores.push(store);
    entries.set(conflict.id, entry);
  }));
  return [...entries.values()].map(({ conflict, stores: [store, ...others] }) =>
    h("div", {}, record.stores.length > 1 ? h("span", { class: "dim" }, `${[store, ...others].map(storeName).join(", ")}: `) : null,
      h("span", { class: "lost" }, valueNode(conflict.loser.value)), " ", stampNode(conflict.loser.written), " ",
      house.allowsWrites ? h("button", { type: "button", class: "small", key: `back ${store} ${conflict.id}`, "aria-label": `Take back the lost value of ${field}`,
        onclick: () => act("/api/conflicts/restore", { store, name: record.name, id: conflict.id }) }, "Take back") : null));
}

function links(record) {
  const all = new Map();
  record.stores.forEach((report, store) => report.links.forEach(link => {
    const key = `${link.relationship} ${link.target}`;
    const entry = all.get(key) ?? { link, stores: [] };
    entry.stores[store] = link;
    all.set(key, entry);
  }));
  if (!all.size) return null;
  const rows = [...all.values()].map(({ link, stores }) => h("tr", {}, h("th", { scope: "row" }, link.relationship), h("td", {}, recordLink(link.target)),
    record.stores.map((report, store) => h("td", {}, stores[store] ? h("span", { class: `badge ${stores[store].isVisible ? "good" : "bad"}` }, stores[store].isVisible ? "linked" : "not shown") : "–")),
    h("td", {}, link.tags.map(tag => h("div", {}, "added ", stampNode(tag.added), tag.removed ? [", removed ", stampNode(tag.removed)] : null)),
      link.placed && link.tags.every(tag => tag.added.sequence !== link.placed.sequence || tag.added.by !== link.placed.by) ? h("div", {}, "placed ", stampNode(link.placed)) : null)));
  return [h("h2", {}, "Links"), table("Links of the record", ["Relationship", "To", ...record.stores.map((report, store) => storeName(store)), "History"], rows)];
}

function seen(record) {
  const lines = record.stores.flatMap((report, store) => Object.entries(report.seenBy).map(([replica, has]) => h("li", {},
    h("span", { class: `badge ${has ? "good" : "warn"}` }, has ? "has all of it" : "not known to have all of it"), " ", replicaName(replica),
    h("span", { class: "dim" }, `, as ${storeName(store)} knows`))));
  return lines.length ? [h("h2", {}, "Other devices"), h("ul", { class: "plain" }, lines)] : null;
}
