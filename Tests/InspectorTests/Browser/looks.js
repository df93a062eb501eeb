// What a person who sees little, or works without a mouse, would stumble over. Answers with a list of complaints.
(() => {
  const complaints = [];
  const parse = text => {
    const parts = text.match(/[\d.]+/g)?.map(Number) ?? [0, 0, 0, 0];
    return { r: parts[0], g: parts[1], b: parts[2], a: parts.length > 3 ? parts[3] : 1 };
  };
  const over = (top, below) => ({ r: top.r * top.a + below.r * (1 - top.a), g: top.g * top.a + below.g * (1 - top.a), b: top.b * top.a + below.b * (1 - top.a), a: 1 });
  const luminance = ({ r, g, b }) => {
    const [x, y, z] = [r, g, b].map(v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const behind = element => {
    const layers = [];
    for (let next = element; next; next = next.parentElement) layers.push(parse(getComputedStyle(next).backgroundColor));
    return layers.reverse().reduce((below, top) => over(top, below), { r: 255, g: 255, b: 255, a: 1 });
  };
  const shown = element => element.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true }) && !element.closest(".hidden, .skip");
  const seen = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || seen.has(element) || !shown(element) || ["SCRIPT", "STYLE", "NOSCRIPT", "OPTION"].includes(element.tagName)) continue;
    seen.add(element);
    const style = getComputedStyle(element);
    const isSVG = element instanceof SVGElement;
    const back = behind(isSVG ? element.ownerSVGElement : element);
    const front = over(parse(isSVG ? style.fill : style.color), back);
    const [high, low] = [luminance(front), luminance(back)].sort((a, b) => b - a);
    const ratio = (high + 0.05) / (low + 0.05);
    const isLarge = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && Number(style.fontWeight) >= 700);
    // What cannot be used need not be as legible (WCAG 2.2, 1.4.3).
    if (ratio < (isLarge ? 3 : 4.5) && !element.closest(":disabled")) complaints.push(`contrast ${ratio.toFixed(2)}: ${element.tagName} "${walker.currentNode.data.trim().slice(0, 40)}"`);
  }
  const ids = [...document.querySelectorAll("[id]")].map(element => element.id);
  for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) complaints.push(`two elements are called ${id}`);
  for (const image of document.querySelectorAll("img:not([alt])")) complaints.push(`an image without alt: ${image.src}`);
  for (const table of document.querySelectorAll("table")) if (!table.caption?.textContent) complaints.push("a table without a caption");
  for (const head of document.querySelectorAll("th:not([scope])")) complaints.push(`a heading of a table without scope: ${head.textContent}`);
  if (document.querySelectorAll("h1").length !== 1) complaints.push(`${document.querySelectorAll("h1").length} headings of level 1`);
  if (!document.documentElement.lang) complaints.push("the page does not say its language");
  if (document.documentElement.scrollWidth > innerWidth) {
    const widest = [...document.querySelectorAll("main *")].filter(element => !element.closest(".scroll") && element.getBoundingClientRect().right > innerWidth + 1).slice(0, 3);
    complaints.push(`the page is wider than the window: ${document.documentElement.scrollWidth} > ${innerWidth}, ${widest.map(element => `${element.tagName}.${element.className}`)}`);
  }
  for (const element of document.querySelectorAll("[onclick], script:not([src])")) complaints.push(`markup with code in it: ${element.outerHTML.slice(0, 60)}`);
  return complaints;
})()
