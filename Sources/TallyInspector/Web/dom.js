// Makes elements. Text is only ever set as text: nothing here, and nothing that uses it, parses markup.
const svgNamespace = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "key") element.dataset.key = value;
    else if (name === "width" && element instanceof HTMLElement && typeof value === "string" && value.endsWith("%")) element.style.width = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return element;
}

export function h(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function s(tag, attributes, ...children) {
  return fill(document.createElementNS(svgNamespace, tag), attributes, children);
}

// Puts children behind those that are there. Of `null`, which the DOM's own append would print, nothing is put.
export const put = (element, ...children) => fill(element, {}, children);

// Puts other children into a container, and the focus back where it was, by the element's key.
export function replace(container, ...children) {
  const key = container.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
  container.replaceChildren(...children.flat(Infinity).filter(child => child instanceof Node));
  if (key === undefined) return;
  for (const element of container.querySelectorAll("[data-key]")) {
    if (element.dataset.key === key) return element.focus({ preventScroll: true });
  }
}

// A table in a box that scrolls by itself, which the keyboard can reach too.
export function table(caption, columns, rows, options = {}) {
  const head = columns.map(column => {
    const { title, className, sort } = typeof column === "string" ? { title: column } : column;
    return h("th", { scope: "col", class: className, "aria-sort": sort }, title);
  });
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    h("table", { class: options.class },
      h("caption", { class: options.showsCaption ? undefined : "hidden" }, caption),
      h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows)));
}

export function notice(kind, ...words) {
  return h("p", { class: `notice ${kind}` }, words);
}
