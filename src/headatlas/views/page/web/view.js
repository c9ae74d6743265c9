/** What all views have in common: a section with controls, a sentence and a stage, and what to do after a change. */

import { element } from "./dom.js";
import { savers } from "./saving.js";

const STAGE_PADDING = 30; // pixels on both sides together, with the border

/**
 * @template A
 * @typedef {Context<A> & ReturnType<typeof parts>} Shell the parts of a view, beside what every view gets
 */

/**
 * A view of the page.
 * @template [A=Atlas]
 * @param {string} name in links and in the `views` of the content
 * @param {string} title on its tab
 * @param {string} label for a screen reader
 * @param {(shell: Shell<A>) => Update} build fills the section once and returns what draws it after a change
 * @returns {View}
 */
export function view(name, title, label, build) {
  return {
    name,
    title,
    create(context) {
      const shell = {
        ...context,
        ...parts(context, element("section", { class: `view ${name}`, "aria-label": label })),
      };
      return { node: shell.node, update: build(shell) };
    },
  };
}

/** @param {Context<any>} context @param {HTMLElement} node */
function parts({ size, palette }, node) {
  const stage = element("div", { class: "stage" });
  const picture = () => /** @type {SVGSVGElement} */ (stage.querySelector("svg"));
  return {
    node,
    controls: element("div", { class: "controls" }),
    verdict: element("p", { class: "verdict", "aria-live": "polite" }),
    remark: element("p", { class: "remark" }),
    stage,
    /** Pixels that a picture on the stage may be wide. */
    stageWidth: () => size().width - STAGE_PADDING,
    /** Pixels from the top of the stage to the bottom of the window, its padding excluded. */
    stageHeight: () => window.innerHeight - stage.getBoundingClientRect().top - STAGE_PADDING,
    /** Buttons that save the picture on the stage. @param {() => string} name of the file */
    savers: (name) => savers(name, picture, () => palette().paper),
  };
}

/** Whether any of these has changed. @param {Set<string>} changed @param {...string} names */
export function anyOf(changed, ...names) {
  return names.some((name) => changed.has(name));
}
