// Chooses one of several stores, in the address of a screen; and what a screen shows of one that cannot be read.
import { h, notice } from "/dom.js";
import { house } from "/words.js";

export function storePicker(screen, chosen, rest = "") {
  if (house.stores.length < 2) return null;
  return h("div", { class: "row", role: "group", "aria-label": "Store" }, house.stores.map((store, number) =>
    h("button", { type: "button", key: `store ${number}`, "aria-pressed": String(number === chosen), onclick: () => { location.hash = `#/${screen}?store=${number}${rest}`; } }, store.name)));
}

// What stands in place of a screen of a store that cannot be read; null if it can be. Nothing is asked of such a store.
export function unreadable(number) {
  const store = house.stores[number];
  if (!store) return notice("bad", "There is no such store.");
  return store.overview ? null : notice("bad", h("strong", {}, `${store.name} cannot be read: `), store.error ?? "nobody knows why");
}
