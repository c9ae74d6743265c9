/** Which head of B belongs to which head of A: by their attention if it was compared, else by label, else by place. */

const ENDS = ["a", "b"];
/** @type {Match} */
const NO_MATCH = { other: -1, why: "none", distance: null };

export class Pairs {
  /**
   * @param {Frame|undefined} matches the matched heads with their distances, if they were measured
   * @param {Frame|undefined} labels heads that have the same label
   * @param {Heads[]} heads of A and of B
   */
  constructor(matches, labels, heads) {
    this.heads = heads;
    this.matches = matches;
    this.measured = Boolean(matches);
    this.rows = matches ? rowsOfHeads(matches, heads) : [[], []];
    this.byLabel = matches ? [new Map(), new Map()] : strongestLabels(labels, heads);
    this.samePlaces = heads[0].perLayer.join() === heads[1].perLayer.join();
  }

  /** The match of a head of a side, 0 for A and 1 for B. @param {number} side @param {number} index @returns {Match} */
  match(side, index) {
    if (index < 0) return NO_MATCH;
    if (this.matches) {
      const row = this.rows[side][index];
      const other = row === undefined ? -1 : this.at(this.matches, row, 1 - side);
      return other < 0 ? NO_MATCH : { other, why: "distance", distance: this.matches.get("distance")[row] };
    }
    const other = this.byLabel[side].get(index);
    if (other !== undefined) return { other, why: "behaviour", distance: null };
    return this.samePlaces ? { other: index, why: "place", distance: null } : NO_MATCH;
  }

  /**
   * What the matches say of a head of A; null if nothing.
   * @param {number} index @param {string} column
   * @returns {Cell}
   */
  said(index, column) {
    const row = this.rows[0][index];
    return row === undefined || !this.matches ? null : this.matches.get(column)[row];
  }

  /**
   * The head that a row of a table names on a side, or -1.
   * @param {Frame} frame @param {number} row @param {number} side
   */
  at(frame, row, side) {
    const end = ENDS[side];
    return this.heads[side].index(frame.get(`layer_${end}`)[row], frame.get(`head_${end}`)[row]);
  }

  /**
   * A column of the matches as a value for each head of a side, NaN if missing.
   * @param {number} side @param {string} column
   */
  values(side, column) {
    const values = this.matches?.get(column);
    return Float64Array.from({ length: this.heads[side].total }, (_, index) => {
      const row = this.rows[side][index];
      return row === undefined ? NaN : (values?.[row] ?? NaN);
    });
  }

  /** A choice on one side with its match on the other. @param {Change} parts @returns {Change} */
  complete(parts) {
    const { head, other } = parts;
    if (head !== undefined && other === undefined) return { ...parts, other: this.match(0, head).other, side: 0 };
    if (other !== undefined && head === undefined) return { ...parts, head: this.match(1, other).other, side: 1 };
    return parts;
  }
}

/** For each side the row of each of its heads. @param {Frame} matches @param {Heads[]} heads */
function rowsOfHeads(matches, heads) {
  return ENDS.map((end, side) => {
    /** @type {number[]} */
    const rows = [];
    for (const row of matches.where()) {
      const index = heads[side].index(matches.get(`layer_${end}`)[row], matches.get(`head_${end}`)[row]);
      if (index >= 0) rows[index] = row;
    }
    return rows;
  });
}

/**
 * For each side the partner of a head by its strongest label.
 * @param {Frame|undefined} labels @param {Heads[]} heads @returns {Map<number, number>[]}
 */
function strongestLabels(labels, heads) {
  return ENDS.map((end, side) => {
    const partners = new Map();
    const otherEnd = ENDS[1 - side];
    const rows = labels?.records(labels.sorted(labels.where(), `strength_${end}`, true)) ?? [];
    for (const row of rows) {
      const index = heads[side].index(row[`layer_${end}`], row[`head_${end}`]);
      const partner = heads[1 - side].index(row[`layer_${otherEnd}`], row[`head_${otherEnd}`]);
      if (index >= 0 && partner >= 0 && !partners.has(index)) partners.set(index, partner);
    }
    return partners;
  });
}
