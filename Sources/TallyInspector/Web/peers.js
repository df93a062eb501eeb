// Peers: how sync stands, and who lacks how much of whose transactions.
import { h, put, replace, notice, table } from "/dom.js";
import { get, post } from "/api.js";
import { house, bytesText, timeNode, replicaNode, replicaName, storeName } from "/words.js";
import { unreadable } from "/picker.js";

export async function screen(body) {
  const content = h("div", {}), problems = h("div", { "aria-live": "assertive" });
  put(body, h("h1", {}, "Peers"), problems, content);
  // A check whose answer nobody will see is given up, and the server ends it.
  const leaving = new AbortController();
  window.addEventListener("hashchange", () => leaving.abort(), { once: true });
  const act = async (path, wish, words) => {
    try {
      const answer = await post(path, wish, leaving.signal);
      replace(problems, words ? words(answer) : null);
      await update();
    } catch (error) {
      if (!leaving.signal.aborted) replace(problems, notice("bad", error.message));
    }
  };
  const update = async () => replace(content, draw(await get("/api/peers"), act));
  await update();
  return update;
}

function draw(all, act) {
  return house.stores.map((store, number) => {
    const entry = all[number];
    // A store that could not be opened.
    if (!entry) return h("section", { "aria-label": store.name }, h("h2", {}, store.name), unreadable(number));
    return h("section", { "aria-label": store.name }, h("h2", {}, store.name, " ",
      entry.hasEngine ? h("span", { class: `badge ${entry.isPaused ? "warn" : entry.isUpToDate ? "good" : "warn"}` }, entry.isPaused ? "paused" : entry.isUpToDate ? "up to date" : "not up to date") : null),
      unreadable(number),
      h("div", { class: "row" },
        entry.hasEngine ? h("button", { type: "button", key: `sync ${number}`, onclick: () => act("/api/sync", { store: number, id: "" }) }, "Sync now") : null,
        store.overview && h("button", { type: "button", key: `verify ${number}`, onclick: event => {
          event.target.disabled = true;
          act("/api/verify", { store: number }, verified);
        } }, "Verify")),
      entry.hasEngine ? peers(entry, number) : h("p", { class: "dim" }, "No engine of this store is at hand here: it syncs in its own process, if at all."),
      store.overview ? lag(store.overview, number) : null);
  });
}

const verified = report => report.problems.length
  ? notice("bad", h("strong", {}, `${report.problems.length} problems in ${report.checked} records and links: `), report.problems.slice(0, 5).join("; "))
  : notice("good", `Sound: ${report.checked} records and links checked.`);

const phases = { live: "good", idle: "good", syncing: "good", connecting: "warn", retrying: "warn", blocked: "bad", paused: "" };
function peers(entry, number) {
  if (!entry.peers.length) return notice("", "The engine has no peers.");
  return table(`Peers of ${storeName(number)}`, ["Peer", "State", { title: "It lacks", className: "number" }, { title: "Lacks here", className: "number" }, "Sent", "Received", "Last equal", "Trouble"],
    entry.peers.map(peer => h("tr", {}, h("th", { scope: "row" }, peer.id, peer.device ? h("div", { class: "dim" }, peer.device) : null, peer.replica ? h("div", {}, replicaNode(peer.replica)) : null,
      versions(peer).map(words => h("div", { class: "dim" }, words))),
      h("td", {}, h("span", { class: `badge ${phases[peer.phase] ?? ""}` }, peer.phase), peer.fraction !== undefined && peer.fraction !== null ? ` ${Math.round(peer.fraction * 100)} %` : null,
        peer.stage ? h("div", { class: "dim" }, stage(peer)) : null,
        peer.nextRetry ? h("div", { class: "dim" }, "next try ", timeNode(peer.nextRetry)) : null,
        peer.waitingFiles ? h("div", { class: "dim" }, `${peer.waitingFiles} files wait`) : null),
      h("td", { class: "number" }, peer.pending ?? "?"), h("td", { class: "number" }, peer.missing ?? "?"),
      h("td", {}, bytesText(peer.bytesSent)), h("td", {}, bytesText(peer.bytesReceived)), h("td", {}, timeNode(peer.lastSuccess)),
      h("td", {}, peer.lastError ? [h("span", { class: "lost" }, peer.lastError), peer.failures > 1 ? ` (${peer.failures} times)` : "", peer.advice ? h("div", { class: "dim" }, peer.advice) : null] : peer.advice ?? "–"))));
}

// What is under way: receiving 45 %, 1200 records, 10 s left.
function stage(peer) {
  const part = peer.stageFraction === undefined || peer.stageFraction === null ? "" : ` ${Math.round(peer.stageFraction * 100)} %`;
  return [peer.stage + part, peer.records ? `${peer.records} records` : null, Number.isInteger(peer.secondsLeft) ? `${peer.secondsLeft + 1} s left` : null].filter(Boolean).join(", ");
}

// The app that a peer says it runs, and the versions of the protocol that it speaks.
function versions(peer) {
  const [first, last] = peer.protocolVersions ?? [];
  return [peer.app, first && (first === last ? `protocol ${first}` : `protocol ${first} to ${last}`)].filter(Boolean);
}

// One line a device that the store has met or that is open beside it, one bar a replica.
function lag(overview, number) {
  const vector = Object.entries(overview.vector);
  const devices = overview.devices.map(device => ({ label: device.name ?? replicaName(device.replica), known: device.acknowledged, seen: device.lastSeen, isExact: false }));
  house.stores.forEach((store, place) => {
    if (place !== number && store.overview) devices.push({ label: `${store.name}, open here`, known: store.overview.vector, isExact: true });
  });
  if (!devices.length) return notice("", "It has met no other device, as far as it remembers.");
  if (!vector.length) return notice("", "Nothing was written here yet.");
  const columns = ["Device", "Last heard of", ...vector.map(([replica]) => replicaName(replica)), { title: "Behind", className: "number" }];
  return [h("h3", {}, `What others are known to have of ${overview.name}`), table(`Lag by replica, ${overview.name}`, columns, devices.map(device => {
    let behind = 0;
    const bars = vector.map(([replica, sequence]) => {
      const has = Math.min(device.known[replica] ?? 0, sequence);
      behind += sequence - has;
      return h("td", {}, h("span", { class: "meter", role: "img", "aria-label": `${has} of ${sequence}` }, h("span", { width: `${sequence ? (has / sequence) * 100 : 100}%` })),
        h("div", { class: "dim" }, has === sequence ? "all" : has + 1 === sequence ? `lacks #${sequence}` : `lacks #${has + 1}–#${sequence}`));
    });
    return h("tr", {}, h("th", { scope: "row" }, device.label), h("td", {}, device.seen ? timeNode(device.seen) : "now"), bars,
      h("td", { class: "number" }, behind ? h("strong", { class: "mark" }, behind) : "0"));
  }))];
}
