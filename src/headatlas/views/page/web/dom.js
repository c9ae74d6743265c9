/** Elements without markup: text is always text, whatever it says. */

const SVG = "http://www.w3.org/2000/svg";

/** An HTML element; `on` has listeners, `text` the content, everything else is an attribute. */
export function element(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** An SVG element. */
export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(node, { text, on, ...attributes }, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, String(value));
  }
  for (const [event, listener] of Object.entries(on ?? {})) node.addEventListener(event, listener);
  if (text !== undefined) node.textContent = text;
  node.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

/** A choice among groups of options: [[group, [[value, label], ...]], ...]; a group without name has its options bare. */
export function select(label, groups, value, change) {
  const options = groups.flatMap(([group, list]) => {
    const own = list.map(([key, text]) => element("option", { value: key, text, selected: key === value }));
    return group ? [element("optgroup", { label: group }, ...own)] : own;
  });
  const node = element("select", { on: { change: (event) => change(event.target.value) } }, ...options);
  return element("label", { class: "field" }, element("span", { text: label }), node);
}

/** Buttons of which one is pressed: [[value, label], ...]. */
export function toggle(label, choices, value, change) {
  const buttons = choices.map(([key, text]) =>
    element("button", {
      type: "button",
      "aria-pressed": String(key === value),
      text,
      on: { click: () => change(key) },
    }),
  );
  return element("div", { class: "toggle", role: "group", "aria-label": label }, ...buttons);
}

export function checkbox(label, checked, change) {
  const box = element("input", { type: "checkbox", checked, on: { change: (event) => change(event.target.checked) } });
  return element("label", { class: "check" }, box, element("span", { text: label }));
}

/** How wide a text is drawn, in pixels, at a font size. */
const pen = document.createElement("canvas").getContext("2d");
export const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif';
export function textWidth(text, size, weight = 400) {
  pen.font = `${weight} ${size}px ${FONT}`;
  return pen.measureText(text).width;
}

/** A text cut to a width, with a mark where it was cut. Characters that turn or break a line are made visible. */
export function fitted(text, size, width, weight = 400) {
  const shown = visible(text);
  if (textWidth(shown, size, weight) <= width) return shown;
  const letters = Array.from(shown);
  let [low, high] = [0, letters.length];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (textWidth(letters.slice(0, middle).join("") + "…", size, weight) <= width) low = middle;
    else high = middle - 1;
  }
  return letters.slice(0, low).join("") + "…";
}

/** Byte-level tokenizers write a space as Ġ, others as ▁; control and direction marks are shown as what they are. */
export function visible(text) {
  const shown = text
    .replace(/^[Ġ▁]/, "")
    .replace(/[Ċ\n]/g, "⏎")
    .replace(/[\u0000-\u001f\u007f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufffe\uffff]/g, "\ufffd")
    .replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "\ufffd");
  return shown.trim() ? shown : "␣";
}
