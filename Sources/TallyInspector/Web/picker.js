// Chooses one of several stores, in the address of a screen.
import { h } from "/dom.js";
import { house } from "/words.js";

export function storePicker(screen, chosen, rest = "") {
  if (house.stores.length < 2) return null;
  return h("div", { class: "row", role: "group", "aria-label": "Store" }, house.stores.map((store, number) =>
    h("button", { type: "button", key: `store ${number}`, "aria-pressed": String(number === chosen), onclick: () => { location.hash = `#/${screen}?store=${number}${rest}`; } }, store.name)));
}
