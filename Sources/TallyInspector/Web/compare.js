// Two stores side by side: what one has and the other lacks, record by record.
import { h, put, replace, notice, table } from "/dom.js";
import { page } from "/api.js";
import { unreadable } from "/picker.js";
import { house, recordLink, sentence, valueNode, stampNode, presenceBadge, replicaNode } from "/words.js";

export async function screen(body, parameters) {
  const first = Number(parameters.get("first") ?? 0), second = Number(parameters.get("second") ?? (first === 0 ? 1 : 0)), from = parameters.get("from") ?? "";
  const content = h("div", {});
  const pick = (label, value, other, change) => h("label", {}, label, h("select", { key: label, onchange: event => change(event.target.value) },
    house.stores.map((store, number) => h("option", { value: number, selected: number === value, disabled: number === other }, store.name))));
  put(body, h("h1", {}, "Compare"), h("div", { class: "row" },
    pick("First", first, second, value => { location.hash = `#/compare?first=${value}&second=${second}`; }),
    pick("Second", second, first, value => { location.hash = `#/compare?first=${first}&second=${value}`; })), content);
  const update = async () => replace(content, unreadable(first) ?? unreadable(second) ?? draw(await page("/api/diff", { first, second, from }, { place: "from", entries: "records" }), first, second, from));
  await update();
  return update;
}

function draw(difference, first, second, from) {
  const isEqual = difference.isSameVector && difference.isSameContent;
  const gaps = (name, list) => h("article", { class: "card" }, h("h2", {}, `${name} lacks`), list.length
    ? h("ul", { class: "plain" }, list.map(gap => h("li", {}, replicaNode(gap.replica), gap.first === gap.last ? ` #${gap.last}` : ` #${gap.first}–#${gap.last}`)))
    : h("p", { class: "dim" }, "nothing"));
  const rows = difference.records.map(record => h("tr", {}, h("th", { scope: "row" }, recordLink(record.name), h("div", { class: "dim" }, sentence(record.sentence)), followers(record, difference)),
    h("td", {}, presenceBadge(record.first)), h("td", {}, presenceBadge(record.second)), h("td", {}, fields(record, difference))));
  return [h("p", { class: `notice ${isEqual ? "good" : "warn"}`, role: "status" }, difference.sentence),
    isEqual ? null : h("div", { class: "cards" }, gaps(difference.first, difference.firstLacks), gaps(difference.second, difference.secondLacks)),
    rows.length ? [h("h2", {}, "Records"), table("Records that differ", ["Record", difference.first, difference.second, "Fields that differ"], rows)] : null,
    h("p", { class: "row" }, from ? h("button", { type: "button", key: "first page", onclick: () => { location.hash = `#/compare?first=${first}&second=${second}`; } }, "From the beginning") : null,
      difference.next ? h("button", { type: "button", key: "more", onclick: () => { location.hash = `#/compare?first=${first}&second=${second}&from=${encodeURIComponent(difference.next)}`; } }, "More") : null)];
}

// What nobody has touched, and what shows in one of them alone with this record.
function followers(record, difference) {
  const side = isFirst => {
    const [here, there] = isFirst ? [difference.first, difference.second] : [difference.second, difference.first];
    const names = record.followers.filter(follower => follower.isVisibleInFirst === isFirst);
    return names.length ? h("div", { class: "dim" }, `With it ${here} shows, and ${there} does not: `, names.map((follower, place) => [place ? ", " : "", recordLink(follower.name)])) : null;
  };
  return record.followers.length ? [side(true), side(false), record.hasMoreFollowers ? h("div", { class: "dim" }, "And more.") : null] : null;
}

function fields(record, difference) {
  if (!record.fields.length) return h("span", { class: "dim" }, "–");
  const side = (name, field) => h("div", {}, h("span", { class: "dim" }, `${name}: `), field ? [valueNode(field.value), " ", stampNode(field.written)] : h("span", { class: "dim" }, "never written"));
  const rest = record.otherFields + Math.max(0, record.fields.length - 12);
  return [record.fields.slice(0, 12).map(field => h("div", {}, h("strong", {}, field.field), side(difference.first, field.first), side(difference.second, field.second))),
    rest ? h("div", { class: "dim" }, `and ${rest} more`) : null];
}
