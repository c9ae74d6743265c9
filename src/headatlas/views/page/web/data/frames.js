/** Tables in the page: columns by name, filtering, sorting, numbers as text, CSV. */

/** @typedef {{name: string, meaning: string, number: boolean}} Column */

export class Frame {
  /** @param {Column[]} columns @param {any[][]} values one array a column */
  constructor(columns, values) {
    this.columns = columns;
    this.values = values;
    this.length = values.length ? values[0].length : 0;
    this.places = new Map(columns.map((column, place) => [column.name, place]));
  }

  has(...names) {
    return names.every((name) => this.places.has(name));
  }

  /** The values of a column. */
  get(name) {
    return this.values[this.places.get(name)];
  }

  /** Numbers of the rows for which a test of the row number holds. */
  where(test) {
    const rows = [];
    for (let row = 0; row < this.length; row += 1) if (test(row)) rows.push(row);
    return rows;
  }

  /** Row numbers in the order of a column; missing values last either way. */
  sorted(rows, name, descending) {
    const values = this.get(name);
    const sign = descending ? -1 : 1;
    const compare = (a, b) => {
      const [one, other] = [values[a], values[b]];
      if (one === null || other === null) return (one === null) - (other === null) || a - b;
      if (one === other) return a - b;
      const order = typeof one === "number" ? one - other : String(one).localeCompare(String(other));
      return sign * order || a - b;
    };
    return [...rows].sort(compare);
  }
}

/** Column as it was packed: an array, or words with a code for each row. */
export function unpackColumn(column) {
  return Array.isArray(column) ? column : column.codes.map((code) => (code === null ? null : column.words[code]));
}

/** A function that writes the numbers of a column alike: four digits of the largest. */
export function numberFormat(values) {
  let largest = 0;
  let whole = true;
  for (const value of values) {
    if (typeof value !== "number") continue;
    largest = Math.max(largest, Math.abs(value));
    whole = whole && Number.isInteger(value);
  }
  if (whole) return (value) => (value === null ? "" : String(value));
  const decimals = Math.min(12, Math.max(0, 3 - Math.floor(Math.log10(largest))));
  return (value) => {
    if (value === null) return "";
    const text = value.toFixed(decimals);
    return value !== 0 && Number(text) === 0 ? value.toExponential(1) : text;
  };
}

/** Rows of cells as CSV; a cell with a comma, quote or line break is quoted. */
export function csv(titles, rows) {
  const cell = (value) => {
    const text = value === null || value === undefined ? "" : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [titles, ...rows].map((row) => row.map(cell).join(",") + "\n").join("");
}

export function percent(share, decimals = 0) {
  return share === null || Number.isNaN(share) ? "" : `${(100 * share).toFixed(decimals)} %`;
}
