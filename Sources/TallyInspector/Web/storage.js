// What the file holds, and what takes how much of it.
import { h, put, replace, notice, table } from "/dom.js";
import { get } from "/api.js";
import { bytesText, countText, leastText, recordLink } from "/words.js";
import { storePicker, unreadable } from "/picker.js";

export async function screen(body, parameters) {
  const store = Number(parameters.get("store") ?? 0);
  const content = h("div", {}), measured = h("section", { "aria-label": "Measured", "aria-live": "polite" });
  const measure = h("button", { type: "button", key: "measure", onclick: async () => {
    measure.disabled = true;
    try {
      replace(measured, found(await get("/api/storage", { store, measure: 1 })));
    } catch (error) {
      replace(measured, notice("bad", error.message));
    }
    measure.disabled = false;
  } }, "Measure tables and records");
  const offer = h("p", { class: "row" }, measure, h("span", { class: "dim" }, "reads all of the file, for three and a half seconds at most"));
  put(body, h("h1", {}, "Storage"), storePicker("storage", store), content, offer, measured);
  const update = async () => {
    const bad = unreadable(store);
    offer.hidden = bad !== null;
    replace(content, bad ?? draw(await get("/api/storage", { store })));
  };
  await update();
  return update;
}

function draw(sizes) {
  const rows = sizes.tables.map(entry => h("tr", {}, h("th", { scope: "row" }, entry.type, entry.isKnown ? null : [" ", h("span", { class: "badge warn" }, "newer schema")]),
    h("td", { class: "number" }, countText(entry.rows, entry.isExact)), h("td", { class: "number" }, leastText(entry.hidden, entry.isHiddenExact))));
  return [h("dl", {}, h("dt", {}, "Database"), h("dd", {}, `${bytesText(sizes.bytes)}, of which ${bytesText(sizes.freeBytes)} are free`),
    h("dt", {}, "Write-ahead log"), h("dd", {}, bytesText(sizes.logBytes)), h("dt", {}, "Change log"), h("dd", {}, `at most ${countText(sizes.logEntries)} entries`)),
    rows.length ? table("Records and links", ["Type", { title: "Shown", className: "number" }, { title: "Hidden", className: "number" }], rows) : notice("", "The store is empty.")];
}

function found({ measured }) {
  const most = Math.max(1, ...measured.objects.map(entry => entry.bytes));
  return [measured.isComplete ? null : notice("warn", "The time was over before everything was measured."),
    measured.objects.length ? table("Bytes of tables and indexes", ["Table or index", "Bytes", "Share of the largest"], measured.objects.slice(0, 60).map(entry => h("tr", {}, h("th", { scope: "row", class: "name" }, entry.name), h("td", { class: "number" }, bytesText(entry.bytes)),
      h("td", {}, h("span", { class: "meter", role: "img", "aria-label": `${Math.round((entry.bytes / most) * 100)} percent` }, h("span", { width: `${(entry.bytes / most) * 100}%` })))))) : notice("", "This SQLite cannot tell the bytes of a table."),
    measured.largest.length ? [h("h2", {}, "Largest records"), table("Largest records", ["Record", { title: "Text and blobs", className: "number" }], measured.largest.map(entry => h("tr", {}, h("th", { scope: "row" }, recordLink(entry.name)), h("td", { class: "number" }, bytesText(entry.bytes)))))] : null];
}
