// The last events of stores and engines.
import { h, put, replace, notice, table } from "/dom.js";
import { get } from "/api.js";
import { timeNode, storeName } from "/words.js";

export async function screen(body) {
  const content = h("div", {});
  put(body, h("h1", {}, "Log"), h("p", { class: "dim" }, "The last 1,000 events since the inspector was started, the newest first. They are kept in memory only."), content);
  const entries = [];
  const update = async () => {
    const news = await get("/api/log", { after: entries.at(-1)?.number ?? 0 });
    entries.push(...news);
    entries.splice(0, Math.max(0, entries.length - 1000));
    if (news.length || !content.firstChild) replace(content, draw(entries));
  };
  await update();
  return update;
}

function draw(entries) {
  if (!entries.length) return notice("", "Nothing has happened since the inspector was started.");
  return table("Events", ["Time", "Store", "From", "What"], entries.toReversed().slice(0, 300).map(entry => h("tr", { class: entry.isWarning ? "lost" : null },
    h("td", {}, timeNode(entry.at)), h("td", {}, storeName(entry.store)), h("td", {}, entry.source), h("td", {}, entry.text))));
}
