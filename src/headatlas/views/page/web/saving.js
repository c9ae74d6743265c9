/** Pictures and tables as files: SVG as drawn, PNG rendered from it, CSV. */

import { csv } from "./data/frames.js";
import { button, element, svg } from "./dom.js";

const SCALE = 2; // pixels of a PNG for one of the picture

/** Hand a file to the reader. @param {string} name @param {Blob} blob */
function save(name, blob) {
  const address = URL.createObjectURL(blob);
  const link = element("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

/** A drawn picture as a file of its own, with a background. @param {SVGElement} picture @param {string} background */
function svgSource(picture, background) {
  const copy = /** @type {SVGElement} */ (picture.cloneNode(true));
  for (const node of copy.querySelectorAll("[data-screen]")) node.remove();
  const [, , width, height] = (copy.getAttribute("viewBox") ?? "").split(" ");
  for (const [name, value] of Object.entries({ xmlns: "http://www.w3.org/2000/svg", width, height })) {
    copy.setAttribute(name, value);
  }
  for (const name of ["tabindex", "class", "role"]) copy.removeAttribute(name);
  copy.prepend(svg("rect", { width, height, fill: background }));
  return new XMLSerializer().serializeToString(copy);
}

/** The same picture in pixels. @param {string} source @returns {Promise<Blob>} */
async function pngOf(source) {
  const image = new Image();
  image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(source);
  await image.decode();
  const canvas = element("canvas", { width: SCALE * image.width, height: SCALE * image.height });
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done) => canvas.toBlob((blob) => done(/** @type {Blob} */ (blob)), "image/png"));
}

/**
 * Two buttons that save a picture; name and picture are looked up when one is pressed.
 * @param {() => string} name @param {() => SVGElement} picture @param {() => string} background @param {string} what
 */
export function savers(name, picture, background, what = "") {
  /** @param {string} form @param {(source: string) => Blob|Promise<Blob>} write */
  const saver = (form, write) => {
    const click = async () => save(`${name()}.${form.toLowerCase()}`, await write(svgSource(picture(), background())));
    const label = `Download ${what ? what.toLowerCase() : "this picture"} as ${form}`;
    return button(form, click, { class: "quiet", "aria-label": label });
  };
  return element(
    "span",
    { class: "savers" },
    what ? element("span", { class: "what", text: what }) : "",
    saver("SVG", (source) => new Blob([source], { type: "image/svg+xml" })),
    saver("PNG", pngOf),
  );
}

/** A button that saves rows of a table. @param {string} name @param {string[]} titles @param {() => Cell[][]} rows */
export function csvSaver(name, titles, rows) {
  const click = () => save(`${name}.csv`, new Blob([csv(titles, rows())], { type: "text/csv" }));
  return button("CSV", click, { class: "quiet", "aria-label": "Download these rows as CSV" });
}
