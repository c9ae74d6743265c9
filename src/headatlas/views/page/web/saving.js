/** Pictures and tables as files: SVG as drawn, PNG made from it, CSV. */

import { element } from "./dom.js";

const SCALE = 2; // pixels of a PNG for one of the picture

/** Hand a file to the reader. */
export function save(name, blob) {
  const address = URL.createObjectURL(blob);
  const link = element("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

/** The source of a drawn picture with its own background, which needs nothing of this page. */
export function svgSource(picture, background) {
  const copy = picture.cloneNode(true);
  for (const node of copy.querySelectorAll("[data-screen]")) node.remove();
  const [, , width, height] = copy.getAttribute("viewBox").split(" ");
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  for (const name of ["tabindex", "class", "role"]) copy.removeAttribute(name);
  const sheet = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  for (const [key, value] of Object.entries({ width, height, fill: background })) sheet.setAttribute(key, value);
  copy.prepend(sheet);
  return new XMLSerializer().serializeToString(copy);
}

/** The same picture in pixels. @returns {Promise<Blob>} */
export async function pngOf(source) {
  const image = new Image();
  image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(source);
  await image.decode();
  const canvas = element("canvas", { width: SCALE * image.width, height: SCALE * image.height });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}

/** Two buttons that save a picture. `name` and `picture` are asked for when one is pressed. */
export function savers(name, picture, background, what = "") {
  const button = (form, write) =>
    element("button", {
      type: "button",
      class: "quiet",
      text: form,
      "aria-label": `Download ${what ? what.toLowerCase() : "this picture"} as ${form}`,
      on: {
        click: async () => save(`${name()}.${form.toLowerCase()}`, await write(svgSource(picture(), background()))),
      },
    });
  return element(
    "span",
    { class: "savers" },
    what ? element("span", { class: "what", text: what }) : "",
    button("SVG", (source) => new Blob([source], { type: "image/svg+xml" })),
    button("PNG", pngOf),
  );
}
