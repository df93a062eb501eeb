// One file for a bug report, without values unless asked; and where two reports part.
import { h, put, replace, notice } from "/dom.js";
import { getText, post } from "/api.js";
import { house } from "/words.js";
import { storePicker, unreadable } from "/picker.js";

export async function screen(body, parameters) {
  const store = Number(parameters.get("store") ?? 0), values = parameters.get("values") === "1";
  const bad = unreadable(store);
  if (bad) return void put(body, h("h1", {}, "Report"), storePicker("report", store), bad);
  const text = await getText("/api/report", { store, values: values ? 1 : "" });
  const name = `tally-report-${(house.stores[store]?.name ?? "store").replace(/[^A-Za-z0-9]+/g, "-")}.json`;
  const link = h("a", { href: URL.createObjectURL(new Blob([text], { type: "application/json" })), download: name, key: "save" }, "Save the report");
  const check = h("input", { type: "checkbox", checked: values, key: "values", onchange: event => { location.hash = `#/report?store=${store}${event.target.checked ? "&values=1" : ""}`; } });
  put(body, h("h1", {}, "Report"), storePicker("report", store),
    h("div", { class: "row" }, h("label", {}, check, "With values, names of records and of devices"), link),
    h("p", { class: "dim" }, values ? "This report holds data of the app. Think about who may read it." : "No values, no names of records or devices: types, fields, counts, vectors, clocks."),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "The report" }, h("pre", { class: "mono" }, text.slice(0, 200_000))), compare(text));
  return null;
}

function compare(own) {
  const result = h("div", { "aria-live": "polite" });
  const file = h("input", { type: "file", accept: ".json,application/json", key: "file", onchange: async () => {
    if (!file.files.length) return;
    try {
      const second = JSON.parse(await file.files[0].text());
      draw(await post("/api/report/compare", { first: JSON.parse(own), second }));
    } catch (error) {
      replace(result, notice("bad", error instanceof SyntaxError ? "The file is no report." : error.message));
    }
  } });
  const draw = ({ findings }) => replace(result, findings.length
    ? h("ul", { class: "plain" }, findings.map(finding => h("li", {}, h("span", { class: "badge" }, finding.about), " ", finding.sentence)))
    : notice("good", "The two reports agree."));
  return h("section", { "aria-label": "Compare reports" }, h("h2", {}, "Compare with another report"),
    h("p", { class: "dim" }, "The first is the one above, the second the file that you choose."), h("div", { class: "row" }, h("label", {}, "Report", file)), result);
}
