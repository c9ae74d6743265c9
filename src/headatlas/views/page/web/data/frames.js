/** Tables in the page: columns by name, filtering, sorting, numbers as text, CSV. */

export class Frame {
  /** @param {Column[]} columns @param {Cell[][]} values one array per column */
  constructor(columns, values) {
    this.columns = columns;
    this.values = values;
    this.length = values.length ? values[0].length : 0;
    this.places = new Map(columns.map((column, place) => [column.name, place]));
  }

  /** @param {...string} names */
  has(...names) {
    return names.every((name) => this.places.has(name));
  }

  /** The values of a column that exists. @param {string} name @returns {Cell[]} */
  get(name) {
    return this.values[/** @type {number} */ (this.places.get(name))];
  }

  /**
   * The numbers of the rows that pass a test of the row number; of all rows without one.
   * @param {(row: number) => boolean} test
   */
  where(test = () => true) {
    const rows = [];
    for (let row = 0; row < this.length; row += 1) if (test(row)) rows.push(row);
    return rows;
  }

  /** Rows as objects. @param {number[]} rows @returns {Row[]} */
  records(rows = this.where()) {
    return rows.map((row) =>
      Object.fromEntries(this.columns.map(({ name }, place) => [name, this.values[place][row]])),
    );
  }

  /**
   * Row numbers in the order of a column; missing values last either way.
   * @param {number[]} rows @param {string} name @param {boolean} descending
   */
  sorted(rows, name, descending) {
    const values = this.get(name);
    const sign = descending ? -1 : 1;
    return [...rows].sort((a, b) => {
      const [first, second] = [values[a], values[b]];
      if (first === null || second === null) return Number(first === null) - Number(second === null) || a - b;
      if (first === second) return a - b;
      const order = typeof first === "number" ? first - second : String(first).localeCompare(String(second));
      return sign * order || a - b;
    });
  }
}

/**
 * A column as it was packed: an array, or words with a code for each row.
 * @param {PackedColumn} column
 * @returns {Cell[]}
 */
export function unpackColumn(column) {
  return Array.isArray(column) ? column : column.codes.map((code) => (code === null ? null : column.words[code]));
}

/**
 * A function that writes all numbers of a column with the same decimals: four digits of the largest.
 * @param {Iterable<Cell>} values
 */
export function numberFormat(values) {
  let largest = 0;
  let whole = true;
  for (const value of values) {
    if (typeof value !== "number" || Number.isNaN(value)) continue;
    largest = Math.max(largest, Math.abs(value));
    whole = whole && Number.isInteger(value);
  }
  const decimals = Math.min(12, Math.max(0, 3 - Math.floor(Math.log10(largest))));
  return (/** @type {number|null} */ value) => {
    if (value === null || Number.isNaN(value)) return "";
    if (whole) return String(value);
    const text = value.toFixed(decimals);
    return value !== 0 && Number(text) === 0 ? value.toExponential(1) : text;
  };
}

/**
 * Rows of cells as CSV; a cell with a comma, quote or line break is quoted.
 * @param {string[]} titles @param {Cell[][]} rows
 */
export function csv(titles, rows) {
  /** @param {Cell} value */
  const cell = (value) => {
    const text = value === null || value === undefined ? "" : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [titles, ...rows].map((row) => row.map(cell).join(",") + "\n").join("");
}

/** @param {number|null} share */
export function percent(share, decimals = 0) {
  return share === null || Number.isNaN(share) ? "" : `${(100 * share).toFixed(decimals)} %`;
}

/** A number with commas between thousands. @param {number} number */
export function counted(number) {
  return number.toLocaleString("en");
}
