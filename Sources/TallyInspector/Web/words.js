// How values, times, replicas and records are written.
import { h } from "/dom.js";
import { address, getText } from "/api.js";

// The names of replicas and the stores, as /api/stores has them.
export const house = { stores: [], names: {}, allowsWrites: false, lanes: [] };

export function settle(answer) {
  Object.assign(house, answer);
  const known = Object.keys(house.names);
  for (const store of house.stores) {
    for (const replica of Object.keys(store.overview?.vector ?? {})) if (!known.includes(replica)) known.push(replica);
  }
  for (const replica of known) lane(replica);
}

// Each replica has a color for as long as the page lives.
export function lane(replica) {
  let index = house.lanes.indexOf(replica);
  if (index < 0) index = house.lanes.push(replica) - 1;
  return `lane${index % 6}`;
}

export const replicaName = replica => house.names[replica] ?? replica.slice(0, 8);
export const replicaNode = replica =>
  h("span", { class: `dotname ${lane(replica)}`, title: replica }, h("span", { class: "swatch" }), replicaName(replica));
export const dotNode = stamp => h("span", { class: `dotname ${lane(stamp.by)}`, title: `${stamp.by}:${stamp.sequence}` },
  h("span", { class: "swatch" }), `${replicaName(stamp.by)} #${stamp.sequence}`);
export const dotText = stamp => `${replicaName(stamp.by)} #${stamp.sequence}`;
export const storeName = number => house.stores[number]?.name ?? `store ${number}`;

const sameDay = (one, other) => one.toDateString() === other.toDateString();
export function timeText(iso) {
  if (!iso) return "";
  const date = new Date(iso);
  if (Number.isNaN(date.getTime())) return iso;
  const pad = (number, digits = 2) => String(number).padStart(digits, "0");
  const time = `${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}`;
  return sameDay(date, new Date()) ? time : `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())} ${time}`;
}
export const timeNode = iso => iso ? h("time", { datetime: iso, title: iso, class: "dotname" }, timeText(iso)) : h("span", { class: "dim" }, "–");

// A stamp: when, and who.
export function stampNode(stamp) {
  if (!stamp) return h("span", { class: "dim" }, "–");
  if (stamp.seedVersion !== undefined && stamp.seedVersion !== null) return h("span", {}, `default data, version ${stamp.seedVersion}`);
  return h("span", {}, timeNode(stamp.at), " ", dotNode(stamp));
}

export function bytesText(count) {
  if (count < 1024) return `${count} B`;
  const units = ["KiB", "MiB", "GiB", "TiB"];
  let size = count / 1024, unit = 0;
  while (size >= 1024 && unit < units.length - 1) [size, unit] = [size / 1024, unit + 1];
  return `${size < 10 ? size.toFixed(1) : Math.round(size)} ${units[unit]}`;
}
export const countText = (count, isExact = true) => `${isExact ? "" : "about "}${count.toLocaleString("en")}`;

// A count that was given up at a limit.
export const leastText = (count, isExact) => `${isExact ? "" : "more than "}${count.toLocaleString("en")}`;

// Control characters and marks that turn the direction of text are shown as what they are.
export function plain(text) {
  return text.replace(/[\u0000-\u0008\u000b-\u001f]/g, c => String.fromCharCode(0x2400 + c.charCodeAt(0)))
    .replace(/\u007f/g, "\u2421")
    .replace(/[\u0080-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g, c => `⟨U+${c.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);
}

const pictureLimit = 4 << 20;

function blobNode(value) {
  const digits = value.text.slice(0, 64);
  return h("span", { class: "value blob mono" }, `${digits}${value.isCut || value.text.length > 64 ? "…" : ""} (${bytesText(value.bytes)})`);
}

// A picture, where it can be asked for; what only begins like one is shown as bytes.
function pictureNode(value, place) {
  const words = `${value.picture}, ${bytesText(value.bytes)}`;
  const node = h("span", { class: "value picture" }, h("img", { src: address("/api/picture", place), alt: words, title: words, loading: "lazy", onerror: () => node.replaceWith(blobNode(value)) }));
  return node;
}

// The node of a value. A picture needs its place: store, name and field.
export function valueNode(value, place) {
  if (!value || value.kind === "null") return h("span", { class: "value null" }, "null");
  if (value.kind === "blob") return value.picture && place && value.bytes <= pictureLimit ? pictureNode(value, place) : blobNode(value);
  const rest = value.isCut ? h("span", { class: "dim" }, ` … (${bytesText(value.bytes)})`) : null;
  if (value.kind !== "text") return h("span", { class: "value" }, value.text);
  if (value.text === "") return h("span", { class: "value null" }, "empty");
  if (!value.isCut && /^[A-Za-z]\w*\|~\|[ -~]+$/.test(value.text)) return h("span", { class: "value" }, recordLink(value.text, null));
  return h("span", { class: "value" }, h("bdi", {}, plain(value.text)), rest);
}

// The file that a field names: whether it is here, how large it is, and a picture as a picture. The place is its store and
// name. Where the picture does not show, the server says why; what it would send is then no picture to the browser.
export function fileNode(file, place) {
  if (!file) return null;
  const words = h("div", { class: "dim" }, `${file.isHere ? "the file is here" : "the file is not here"}, ${bytesText(file.bytes)}`);
  if (!file.isHere || !file.isPicture) return words;
  const explain = error => h("div", { class: "dim" }, plain(error?.message ?? "it cannot be drawn"));
  const image = h("img", { src: address("/api/asset", place), alt: `picture, ${bytesText(file.bytes)}`, loading: "lazy",
    onerror: async () => image.replaceWith(await getText("/api/asset", place).then(() => explain(), explain)) });
  return h("div", { class: "file" }, image, words);
}

// A sentence of the server's, with its times as everywhere in the pages.
export const sentence = text => plain(text).replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, timeText);

export const recordAddress = name => `#/record?name=${encodeURIComponent(name)}`;
export const recordLink = (name, key) => h("a", { href: recordAddress(name), class: "name", key: key === undefined ? `record ${name}` : key }, plain(name));

const marks = { visible: ["good", "shown"], deleted: ["bad", "deleted"], emptied: ["bad", "removed for good"], hiddenByOwner: ["warn", "hidden by its owner"],
  setAside: ["bad", "refused by SQLite"], refused: ["warn", "cannot be replicated"], notReceived: ["warn", "not received"],
  unknownType: ["warn", "unknown type"], newerSchema: ["warn", "of a newer schema"], retired: ["warn", "retired"], unreadable: ["bad", "cannot be read"], gaveWay: ["warn", "gave way"] };
export function presenceBadge(presence) {
  const [kind, word] = marks[presence.code] ?? ["", presence.code];
  return h("span", { class: `badge ${kind}` }, word);
}
export const presenceKind = presence => marks[presence.code]?.[0] ?? "";
