// What lost to a concurrent write, and deletes that an edit has undone.
import { h, put, replace, notice } from "/dom.js";
import { get, post } from "/api.js";
import { house, recordLink, sentence, valueNode, stampNode, timeNode } from "/words.js";
import { storePicker, unreadable } from "/picker.js";

export async function screen(body, parameters) {
  const store = Number(parameters.get("store") ?? 0);
  const content = h("div", {}), problems = h("div", { "aria-live": "assertive" });
  put(body, h("h1", {}, "Conflicts"), storePicker("conflicts", store), problems, content);
  const act = async (path, conflict) => {
    try {
      await post(path, { store, name: conflict.name, id: conflict.id });
      replace(problems);
      await update();
    } catch (error) {
      replace(problems, notice("bad", error.message));
    }
  };
  const update = async () => replace(content, unreadable(store) ?? draw(await get("/api/conflicts", { store, limit: 200 }), act));
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

// What shows where the winner is no value.
const shown = {
  deleted: "nothing: the whole record was deleted",
  deleteUndone: "the record: something was written that the delete had not seen",
  referenceCleared: "nothing: what it refers to was deleted",
};

function card(conflict, act) {
  const isDelete = conflict.kind === "deleteUndone", field = isDelete ? "the delete" : conflict.field;
  return h("article", { class: "card", "aria-label": `Conflict in ${field}` },
    h("h2", {}, field, " of ", recordLink(conflict.name, `conflict ${conflict.id}`)),
    h("dl", {}, h("dt", {}, "Shown"), h("dd", {}, conflict.winner.value ? valueNode(conflict.winner.value) : shown[conflict.kind], h("div", { class: "dim" }, stampNode(conflict.winner.written))),
      h("dt", {}, "Lost"), h("dd", { class: "lost" }, conflict.loser.value ? valueNode(conflict.loser.value) : "a delete of the record", h("div", { class: "dim" }, stampNode(conflict.loser.written)))),
    h("p", { class: "dim" }, "Neither had seen the other. Noticed here at ", timeNode(conflict.noticed)),
    house.allowsWrites ? h("p", { class: "row" },
      h("button", { type: "button", key: `back ${conflict.id}`, "aria-label": isDelete ? "Delete the record again" : `Take back the lost value of ${field}`, onclick: () => act("/api/conflicts/restore", conflict) }, isDelete ? "Delete again" : "Take back what lost"),
      h("button", { type: "button", key: `dismiss ${conflict.id}`, "aria-label": `Dismiss the conflict in ${field}`, onclick: () => act("/api/conflicts/dismiss", conflict) }, "Dismiss")) : null);
}
