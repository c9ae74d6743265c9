/** Elements without markup: text is always text, whatever it says. */

const SVG = "http://www.w3.org/2000/svg";

/**
 * @typedef {Node|string|number|null|undefined|false} Child
 * @typedef {Record<string, any> & {text?: string, on?: Record<string, (event: any) => unknown>}} Attributes
 *   `on` holds listeners, `text` the content; everything else is an attribute.
 */

/**
 * An HTML element.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag @param {Attributes} attributes @param {...Child} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function element(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/**
 * An SVG element.
 * @template {keyof SVGElementTagNameMap} T
 * @param {T} tag @param {Attributes} attributes @param {...Child} children
 * @returns {SVGElementTagNameMap[T]}
 */
export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

/** @template {Element} N @param {N} node @param {Attributes} attributes @param {Child[]} children @returns {N} */
function fill(node, { text, on, ...attributes }, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, String(value));
  }
  for (const [event, listener] of Object.entries(on ?? {})) node.addEventListener(event, listener);
  if (text !== undefined) node.textContent = text;
  for (const child of children) {
    if (child !== null && child !== undefined && child !== false) node.append(/** @type {Node|string} */ (child));
  }
  return node;
}

/** A picture of a size in pixels. @param {Size} size @param {string} label @param {Attributes} attributes */
export function picture({ width, height }, label, attributes = {}) {
  const common = { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "font-family": FONT };
  return svg("svg", { ...common, "aria-label": label, ...attributes });
}

/** @param {string} text @param {(event: MouseEvent) => unknown} click @param {Attributes} attributes */
export function button(text, click, attributes = {}) {
  return element("button", { type: "button", text, on: { click }, ...attributes });
}

/**
 * A choice among groups of options; the options of a group without a name stand alone.
 * @param {string} label @param {Groups} groups @param {string|undefined} value @param {(value: string) => void} change
 */
export function select(label, groups, value, change) {
  const options = groups.flatMap(([group, list]) => {
    const entries = list.map(([key, text]) => element("option", { value: key, text, selected: key === value }));
    return group ? [element("optgroup", { label: group }, ...entries)] : entries;
  });
  const node = element("select", { on: { change: (event) => change(event.target.value) } }, ...options);
  return element("label", { class: "field" }, element("span", { text: label }), node);
}

/**
 * Buttons of which one is pressed.
 * @param {string} label @param {Choice[]} choices @param {string|undefined} value
 * @param {(value: string) => void} change
 */
export function toggle(label, choices, value, change) {
  const buttons = choices.map(([key, text]) =>
    button(text, () => change(key), { "aria-pressed": String(key === value) }),
  );
  return element("div", { class: "toggle", role: "group", "aria-label": label }, ...buttons);
}

/** @param {string} label @param {boolean} checked @param {(checked: boolean) => void} change */
export function checkbox(label, checked, change) {
  const box = element("input", { type: "checkbox", checked, on: { change: (event) => change(event.target.checked) } });
  return element("label", { class: "check" }, box, element("span", { text: label }));
}

const pen = /** @type {CanvasRenderingContext2D} */ (document.createElement("canvas").getContext("2d"));
export const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif';

/** How wide a text is drawn, in pixels. @param {string} text @param {number} size of the font @param {number} weight */
export function textWidth(text, size, weight = 400) {
  pen.font = `${weight} ${size}px ${FONT}`;
  return pen.measureText(text).width;
}

/**
 * A text cut to a width, with a mark where it was cut. Characters that turn or break a line are made visible.
 * @param {string} text @param {number} size @param {number} width @param {number} weight
 */
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

/**
 * A text as it can be read: byte-level tokenizers write a space as Ġ, others as ▁; control and direction marks and
 * halves of surrogate pairs get a replacement character.
 * @param {string} text
 */
export function visible(text) {
  const shown = text
    .replace(/^[Ġ▁]/, "")
    .replace(/[Ċ\n]/g, "⏎")
    .replace(/[\u0000-\u001f\u007f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufffe\uffff]/g, "\ufffd")
    .replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "\ufffd");
  return shown.trim() ? shown : "␣";
}

/** A number and its sign of percent stay on one line. @param {string} text */
export function unbroken(text) {
  return text.replace(/(\d) %/g, "$1\u00a0%");
}
