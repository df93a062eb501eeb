// What lost to a concurrent write, and deletes that an edit has undone.
import { h, replace, notice } from "/dom.js";
import { get, post } from "/api.js";
import { house, recordLink, sentence, valueNode, stampNode, timeNode } from "/words.js";
import { storePicker } from "/picker.js";

export async function screen(body, parameters) {
  const store = Number(parameters.get("store") ?? 0);
  const content = h("div", {}), problems = h("div", { "aria-live": "assertive" });
  body.append(h("h1", {}, "Conflicts"), storePicker("conflicts", store), problems, content);
  const act = async (path, conflict) => {
    try {
      await post(path, { store, name: conflict.name, id: conflict.id });
      replace(problems);
      await update();
    } catch (error) {
      replace(problems, notice("bad", error.message));
    }
  };
  const update = async () => replace(content, draw(await get("/api/conflicts", { store, limit: 200 }), act));
  await update();
  return update;
}

function draw({ conflicts, kept }, act) {
  return [
    house.allowsWrites ? null : h("p", { class: "dim" }, "The inspector only reads. Started with ", h("code", {}, "--allow-writes"), " it can take back what lost."),
    conflicts.length ? h("div", { class: "cards" }, conflicts.map(conflict => card(conflict, act))) : notice("good", "Nothing that anybody wrote has lost here."),
    kept.length ? [h("h2", {}, "Deletes that an edit has undone"), h("ul", { class: "plain" }, kept.map(entry => h("li", {}, recordLink(entry.name), " ", h("span", {}, sentence(entry.sentence)), " ", timeNode(entry.delete.at))))] : null,
  ];
}

function card(conflict, act) {
  return h("article", { class: "card", "aria-label": `Conflict in ${conflict.field}` },
    h("h2", {}, conflict.field, " of ", recordLink(conflict.name, `conflict ${conflict.id}`)),
    h("dl", {}, h("dt", {}, "Shown"), h("dd", {}, conflict.winner.value ? valueNode(conflict.winner.value) : "the whole record was deleted", h("div", { class: "dim" }, stampNode(conflict.winner.written))),
      h("dt", {}, "Lost"), h("dd", { class: "lost" }, valueNode(conflict.loser.value), h("div", { class: "dim" }, stampNode(conflict.loser.written)))),
    h("p", { class: "dim" }, "Neither had seen the other. Noticed here at ", timeNode(conflict.noticed)),
    house.allowsWrites ? h("p", { class: "row" },
      h("button", { type: "button", key: `back ${conflict.id}`, "aria-label": `Take back the lost value of ${conflict.field}`, onclick: () => act("/api/conflicts/restore", conflict) }, "Take back what lost"),
      h("button", { type: "button", key: `dismiss ${conflict.id}`, "aria-label": `Dismiss the conflict in ${conflict.field}`, onclick: () => act("/api/conflicts/dismiss", conflict) }, "Dismiss")) : null);
}
