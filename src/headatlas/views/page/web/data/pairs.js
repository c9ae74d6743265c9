/** Which head of B belongs to which head of A: by how they attend where that was measured, else by what they do, else by place. */

/**
 * @typedef {{other: number, why: "distance"|"behaviour"|"place"|"none", distance: number|null}} Match
 * `other` is the place of the head of the other side, -1 where there is none.
 */

const ENDS = ["a", "b"];
const NOBODY = { other: -1, why: "none", distance: null };

export class Pairs {
  /** @param {object|undefined} matches the table head_matches @param {object|undefined} labels behaviour_matches @param {object[]} heads of A and of B */
  constructor(matches, labels, heads) {
    this.heads = heads;
    this.labels = labels;
    this.measured = Boolean(matches);
    this.rows = matches ? rowsOf(matches, heads) : [[], []];
    this.matches = matches;
    this.byLabel = matches ? [new Map(), new Map()] : strongestLabels(labels, heads);
    this.samePlaces = heads[0].perLayer.join() === heads[1].perLayer.join();
  }

  /** The head of the other side that belongs to one of a side, 0 for A and 1 for B. @returns {Match} */
  match(side, index) {
    if (index < 0) return NOBODY;
    if (this.measured) {
      const row = this.rows[side][index];
      const other = row === undefined ? -1 : this.at(this.matches, row, 1 - side);
      return other < 0 ? NOBODY : { other, why: "distance", distance: this.matches.get("distance")[row] };
    }
    if (this.byLabel[side].has(index))
      return { other: this.byLabel[side].get(index), why: "behaviour", distance: null };
    return this.samePlaces ? { other: index, why: "place", distance: null } : NOBODY;
  }

  /** What the table of matches says of a head of A in a column; null where it says nothing. */
  said(index, column) {
    const row = this.rows[0][index];
    return row === undefined ? null : this.matches.get(column)[row];
  }

  /** The head that a row of a table names on a side, -1 where it names none. */
  at(frame, row, side) {
    const end = ENDS[side];
    return this.heads[side].index(frame.get(`layer_${end}`)[row], frame.get(`head_${end}`)[row]);
  }

  /** The column of the matches as a value for each head of a side, NaN where there is none. */
  values(side, column) {
    return Float64Array.from({ length: this.heads[side].total }, (_, index) => {
      const row = this.rows[side][index];
      return row === undefined ? NaN : (this.matches.get(column)[row] ?? NaN);
    });
  }

  /** A choice on one side with its match on the other. */
  complete(parts) {
    if ("head" in parts && !("other" in parts)) return { ...parts, other: this.match(0, parts.head).other, side: 0 };
    if ("other" in parts && !("head" in parts)) return { ...parts, head: this.match(1, parts.other).other, side: 1 };
    return parts;
  }
}

/** For each side the row of each of its heads. */
function rowsOf(matches, heads) {
  return ENDS.map((end, side) => {
    const rows = [];
    for (let row = 0; row < matches.length; row += 1) {
      const index = heads[side].index(matches.get(`layer_${end}`)[row], matches.get(`head_${end}`)[row]);
      if (index >= 0) rows[index] = row;
    }
    return rows;
  });
}

/** For each side the partner of a head by the label that it has most strongly. */
function strongestLabels(labels, heads) {
  const found = [new Map(), new Map()];
  if (!labels) return found;
  ENDS.forEach((end, side) => {
    const rows = labels.sorted(
      labels.where(() => true),
      `strength_${end}`,
      true,
    );
    const [own, other] = [ENDS[side], ENDS[1 - side]];
    for (const row of rows) {
      const index = heads[side].index(labels.get(`layer_${own}`)[row], labels.get(`head_${own}`)[row]);
      const partner = heads[1 - side].index(labels.get(`layer_${other}`)[row], labels.get(`head_${other}`)[row]);
      if (index >= 0 && partner >= 0 && !found[side].has(index)) found[side].set(index, partner);
    }
  });
  return found;
}
