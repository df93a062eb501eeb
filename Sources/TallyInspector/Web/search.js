// The entry: a search for a record through all stores, and how the stores stand.
import { h, put, replace, notice, table } from "/dom.js";
import { get } from "/api.js";
import { house, plain, recordAddress, replicaNode, storeName, countText, leastText, bytesText, timeNode } from "/words.js";
import { unreadable } from "/picker.js";

export async function screen(body, parameters) {
  const text = parameters.get("q") ?? "";
  const results = h("section", { "aria-label": "Results", "aria-live": "polite" });
  const stores = h("section", { "aria-label": "Stores" });
  put(body, h("h1", { class: text ? null : "hidden" }, text ? ["Records with “", h("bdi", {}, plain(text)), "”"] : "Stores"), results, stores);
  const update = async () => { replace(stores, storesNode()); };
  await update();
  // Searched for again when a store has seen something new, once the search before is done.
  const seen = () => JSON.stringify(house.stores.map(store => store.overview?.vector));
  let isSearching = false, searched;
  const searching = async isAgain => {
    if (isSearching || searched === seen()) return;
    isSearching = true;
    searched = seen();
    await search(text, results, body, isAgain);
    isSearching = false;
    if (body.isConnected) searching(true);
  };
  if (text) searching(false);
  else if (house.stores.length > 1) replace(results, await standing());
  return async () => {
    await update();
    if (text) searching(true);
    else if (house.stores.length > 1) replace(results, await standing());
  };
}

async function search(text, results, body, isAgain) {
  const found = new Map();
  const list = h("ul", { class: "plain hits" });
  const state = h("p", { class: "dim", role: "status" }, "Searching…");
  // A store that could not be opened is not asked, and one that cannot be read says so itself.
  const failed = new Map(house.stores.flatMap((store, number) => store.overview ? [] : [[number, store.error]]));
  const problems = h("div", {});
  const tell = () => replace(problems, [...failed].map(([store, message]) => notice("bad", `${storeName(store)} cannot be searched: ${message}`)));
  tell();
  // What was found before stays until all is found again.
  const show = () => replace(results, state, problems, list);
  if (!isAgain) show();
  let from, steps = 0;
  try {
    do {
      const page = await get("/api/search", { q: text, from });
      if ((steps > 0 || isAgain) && !body.isConnected) return;
      for (const hit of page.hits) {
        const entry = found.get(hit.name) ?? { hit, stores: [] };
        if (!entry.stores.some(known => known.store === hit.store)) entry.stores.push(hit);
        found.set(hit.name, entry);
      }
      if (page.hits.length || steps === 0) replace(list, [...found.values()].slice(0, 100).map(hitNode));
      for (const failure of page.failures) failed.set(failure.store, failure.message);
      if (page.failures.length) tell();
      from = page.next;
      steps += 1;
      state.textContent = from ? `${found.size} so far, searching…` : words(found.size);
    } while (from && found.size < 100);
    if (from) state.textContent = `The first ${found.size}. Type more to narrow it down.`;
    if (isAgain) show();
  } catch (error) {
    replace(results, notice("bad", error.message));
  }
  results.dataset.done = text;
  if (found.size === 0 && text.length > 0) {
    put(results, text.includes("|~|")
      ? notice("", "Nothing of that name or text is here, deleted records included. If another device has it, it has not arrived: ",
        h("a", { href: recordAddress(text) }, "ask for it by its whole name"), " to see what is lacking.")
      : notice("", "Nothing of that name or text is here, deleted records included. If another device has it, it has not arrived; its whole name, Type|~|key, says what is lacking."));
  }
}

const words = count => count === 0 ? "No record." : count === 1 ? "One record." : `${count} records.`;

function hitNode({ hit, stores }) {
  const badges = stores.map(known => h("span", { class: `badge ${known.isVisible ? "good" : "bad"}` },
    `${storeName(known.store)}: ${known.isVisible ? "shown" : "not shown"}`));
  return h("li", {}, h("a", { href: recordAddress(hit.name), key: `hit ${hit.name}` },
    h("span", { class: "title" }, h("bdi", {}, plain(hit.title || "untitled"))), " ",
    h("span", { class: "name dim" }, plain(hit.name)), " ", badges));
}

// What the stores lack of each other, in one sentence a pair. Of many stores each stands beside the first alone: all
// pairs of sixteen are a hundred and twenty, and the first screen would wait for them.
async function standing() {
  const readable = house.stores.flatMap((store, number) => store.overview ? [number] : []), isMany = readable.length > 4;
  const lines = isMany ? [h("p", { class: "dim" }, `Each beside ${storeName(readable[0])}. Compare shows any two.`)] : [];
  for (const first of isMany ? readable.slice(0, 1) : readable) {
    for (const second of readable.filter(number => number > first)) {
      const difference = await get("/api/diff", { first, second, limit: 1 });
      const isEqual = difference.isSameVector && difference.isSameContent;
      lines.push(h("p", { class: `notice ${isEqual ? "good" : "warn"}` },
        h("strong", {}, `${difference.first} and ${difference.second}: `), difference.sentence, " ",
        isEqual ? null : h("a", { href: `#/compare?first=${first}&second=${second}`, key: `compare ${first} ${second}` }, "record by record")));
    }
  }
  return lines;
}

function storesNode() {
  return h("div", { class: "cards" }, house.stores.map((store, number) => {
    const overview = store.overview;
    if (!overview) return h("article", { class: "card" }, h("h2", {}, store.name), unreadable(number));
    const vector = Object.entries(overview.vector);
    return h("article", { class: "card" }, h("h2", {}, store.name),
      store.warning ? notice("bad", `Careful: ${store.warning}.`) : null,
      overview.doubt ? notice("bad", `What it holds is in doubt: ${overview.doubt}`) : null,
      overview.setAside ? notice("warn", `${overview.setAside} rows are set aside: this device's database does not take them.`) : null,
      overview.rejectedWrites ? notice("warn", `${overview.rejectedWrites} rows of other programs cannot be replicated.`) : null,
      h("dl", {},
        h("dt", {}, "Replica"), h("dd", {}, overview.replica ? replicaNode(overview.replica) : "none before its first write"),
        h("dt", {}, "Has seen"), h("dd", {}, vector.length ? vector.map(([replica, sequence], place) => [place ? ", " : "", replicaNode(replica), ` #${sequence}`]) : "nothing"),
        h("dt", {}, "Conflicts"), h("dd", {}, overview.conflicts ? h("a", { href: `#/conflicts?store=${number}` }, `${overview.conflicts} to look at`) : "none"),
        h("dt", {}, "File"), h("dd", { class: "name" }, overview.path)),
      overview.tables.length ? table(`Types in ${store.name}`, ["Type", { title: "Shown", className: "number" }, { title: "Hidden", className: "number" }],
        overview.tables.map(entry => h("tr", {},
          h("th", { scope: "row" }, h("a", { href: `#/data?store=${number}&type=${encodeURIComponent(entry.type)}`, key: `type ${number} ${entry.type}` }, entry.type),
            entry.isKnown ? null : [" ", h("span", { class: "badge warn" }, "newer schema")]),
          h("td", { class: "number" }, countText(entry.rows, entry.isExact)), h("td", { class: "number" }, entry.hidden ? leastText(entry.hidden, entry.isHiddenExact) : "–")))) : notice("", "The store is empty."));
  }));
}
