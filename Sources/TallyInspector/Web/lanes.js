// A record's life as lanes, one a replica: a dot for each transaction, arrows for "had seen", broken lines where not.
import { h, s } from "/dom.js";
import { lane, replicaName, dotText, timeText } from "/words.js";

const id = stamp => `${stamp.by}:${stamp.sequence}`;

// What each transaction did, from all that the stores know.
export function events(record) {
  const all = new Map();
  const add = (stamp, word, kind) => {
    if (!stamp || (stamp.seedVersion !== undefined && stamp.seedVersion !== null)) return;
    const event = all.get(id(stamp)) ?? { stamp, words: new Set(), isDelete: false, context: null };
    event.words.add(word);
    event.isDelete ||= kind === "delete";
    all.set(id(stamp), event);
    return event;
  };
  const unseen = [], removals = new Map();
  for (const report of record.stores) {
    add(report.existence, "insert");
    for (const field of report.fields) add(field.written, field.field);
    for (const conflict of report.conflicts) {
      add(conflict.loser.written, `${conflict.field} (lost)`);
      add(conflict.winner.written, conflict.winner.value ? conflict.field : "delete", conflict.winner.value ? "" : "delete");
      unseen.push([id(conflict.loser.written), id(conflict.winner.written)]);
    }
    for (const deletion of report.deletes) add(deletion.written, "delete", "delete").context = deletion.context;
    if (report.emptying) add(report.emptying.written, "purge", "delete").context = report.emptying.context;
    for (const link of report.links) if (link.placed && !link.tags.some(tag => id(tag.added) === id(link.placed))) add(link.placed, `${link.relationship} moved`);
    for (const link of report.links) for (const tag of link.tags) {
      add(tag.added, `${link.relationship} +`);
      add(tag.removed, `${link.relationship} −`);
      if (all.has(id(tag.added)) && tag.removed && all.has(id(tag.removed))) removals.set(`${id(tag.added)}|${id(tag.removed)}`, [id(tag.added), id(tag.removed)]);
    }
  }
  const sorted = [...all.values()].sort((one, other) => (one.stamp.at ?? "").localeCompare(other.stamp.at ?? "") || one.stamp.sequence - other.stamp.sequence);
  return { events: sorted, unseen, removals: [...removals.values()].filter(([add, removal]) => add !== removal) };
}

// Which transactions a delete had seen: of each other replica the last one, and all those that it had not. Who removes
// a link removes the adds that they have seen, and no others, so a removal had seen each add that it took away.
export function arrows({ events, unseen, removals }) {
  const seen = removals.filter(pair => pair[0].split(":")[0] !== pair[1].split(":")[0]), not = new Set(unseen.map(pair => pair.slice().sort().join("|")));
  for (const event of events.filter(event => event.context)) {
    const last = new Map();
    for (const other of events) {
      if (other === event || other.stamp.by === event.stamp.by) continue;
      if (other.stamp.sequence <= (event.context[other.stamp.by] ?? 0)) last.set(other.stamp.by, other);
      // Only another delete says what it had seen; of edits the conflicts do. Times prove nothing: a clock may be slow.
      else if (other.context && event.stamp.sequence > (other.context[event.stamp.by] ?? 0)) not.add([id(other.stamp), id(event.stamp)].sort().join("|"));
    }
    for (const other of last.values()) {
      const pair = [id(other.stamp), id(event.stamp)];
      if (!seen.some(known => known[0] === pair[0] && known[1] === pair[1])) seen.push(pair);
    }
  }
  return { seen, unseen: [...not].map(pair => pair.split("|")) };
}

export function lanes(record) {
  const life = events(record);
  if (life.events.length < 2) return null;
  const replicas = [...new Set(life.events.map(event => event.stamp.by))].sort((one, other) => replicaName(one).localeCompare(replicaName(other)));
  const labelWidth = 120, step = 118, height = 64, top = 14;
  const width = labelWidth + life.events.length * step + 10;
  const places = new Map(life.events.map((event, index) => [id(event.stamp), { x: labelWidth + 30 + index * step, y: top + 20 + replicas.indexOf(event.stamp.by) * height }]));
  const { seen, unseen } = arrows(life);
  const line = ([from, to], className, marker) => {
    const [one, other] = [places.get(from), places.get(to)];
    if (!one || !other) return null;
    const bend = one.y === other.y ? -34 : 0;
    return s("path", { class: className, "marker-end": marker, d: `M${one.x} ${one.y} Q${(one.x + other.x) / 2} ${(one.y + other.y) / 2 + bend} ${other.x - (marker ? 9 * Math.sign(other.x - one.x) : 0)} ${other.y}` });
  };
  const picture = s("svg", { class: "lanes", width, height: top + replicas.length * height + 6, viewBox: `0 0 ${width} ${top + replicas.length * height + 6}`, preserveAspectRatio: "xMinYMin", role: "img", "aria-label": describe(life, seen, unseen) },
    s("defs", {}, s("marker", { id: "arrow", viewBox: "0 0 8 8", refX: "6", refY: "4", markerWidth: "8", markerHeight: "8", orient: "auto-start-reverse" }, s("path", { d: "M0 0 8 4 0 8z" }))),
    replicas.map((replica, row) => {
      const y = top + 20 + row * height;
      return [s("line", { class: "track", x1: labelWidth, x2: width - 6, y1: y, y2: y }), s("text", { x: 2, y: y + 4 }, replicaName(replica).slice(0, 16))];
    }),
    unseen.map(pair => line(pair, "unseen")), seen.map(pair => line(pair, "seen", "url(#arrow)")),
    life.events.map(event => {
      const { x, y } = places.get(id(event.stamp));
      const words = [...event.words].join(", ");
      return s("g", { class: lane(event.stamp.by) }, s("title", {}, `${dotText(event.stamp)}, ${timeText(event.stamp.at)}: ${words}`),
        s("circle", { cx: x, cy: y, r: 6.5, class: event.isDelete ? "delete" : null }),
        s("text", { x, y: y + 22, "text-anchor": "middle" }, `#${event.stamp.sequence} ${words.length > 15 ? `${words.slice(0, 14)}…` : words}`),
        s("text", { x, y: y + 36, "text-anchor": "middle", class: "dim" }, timeText(event.stamp.at)));
    }));
  return [h("h2", {}, "Life"),
    h("div", { class: "card" }, h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "The record's life as lanes" }, picture),
      h("p", { class: "dim" }, seen.length ? "Arrows: the delete or removal had seen the write. " : null, unseen.length ? "Broken lines: neither had seen the other. " : null, "Times are those of the writers' clocks."))];
}

function describe(life, seen, unseen) {
  const list = life.events.map(event => `${dotText(event.stamp)}: ${[...event.words].join(", ")}`).join("; ");
  return `${life.events.length} transactions: ${list}. ${seen.length} ${seen.length === 1 ? "was" : "were"} seen by a delete or removal, ${unseen.length} pairs had not seen each other.`;
}
