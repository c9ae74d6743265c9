/** Shapes that the scripts share. Only the type check reads this file; the page does without it. */

type Atlas = import("./data/atlas.js").Atlas;
type Comparison = import("./data/comparison.js").Comparison;
type Frame = import("./data/frames.js").Frame;
type Heads = import("./data/heads.js").Heads;
type Store = import("./store.js").Store;
type Palette = ReturnType<typeof import("./pictures/palette.js").paletteOf>;

type Cell = any; // a number, a word, or null where a value is missing
type Row = Record<string, Cell>;
type Point = { x: number; y: number };
type Size = { width: number; height: number };
type Choice = [value: string, label: string];
type Groups = [group: string, choices: Choice[]][];

/** What the page carries, as `content.py`, `comparison.py` and `maps.py` write it. */
interface Content {
  name: string;
  views: string[];
  heads: number[];
  heads_per_key: number; // heads that share their keys and values
  special: Special;
  words_from: string;
  lead: string;
  brief?: string; // the lead in one line
  warnings?: string[];
  findings: string[];
  leading?: Finding[];
  resting?: Resting;
  seen?: number[]; // by head, the example in which it is seen best
  caveats: string[];
  notes: string[];
  tables: Record<string, PackedTable>;
  nearest: Record<string, [layer: number, head: number, distance: number][]>;
  comparisons: PaperTable[];
  examples: PackedExample[];
  examples_kept?: number;
  head?: number;
  live?: Live;
  relations_by?: string;
  differences?: Record<string, DeclaredDifferences>;
  sides?: Content[];
}

/** A sentence with its numbers apart; null where there is none. */
interface Finding {
  claim: string;
  text: string; // all of it
  base: string; // interval and baselines, in words
  study: string;
  unit: string;
  value: number | null;
  low: number | null;
  high: number | null;
  most: number | null;
  rivals: Record<string, number>; // what it has to beat
  heads: [layer: number, head: number][];
  evidence: string[];
  layers?: number[]; // the same of every layer
  example?: number; // where it is seen
  pair?: Pair; // two words of that example
}

interface Pair {
  from: string;
  to: string;
  ahead: boolean; // whether the word that is attended to comes later
}

/** From which share of their attention on heads are said to rest, on what, and the labels that say the same. */
interface Resting {
  least: number;
  on: string;
  labels: string[];
}

interface Special {
  cls?: string;
  sep?: string;
  unk?: string;
}

interface Column {
  name: string;
  meaning: string;
  number: boolean;
}

interface PackedTable {
  about: string;
  columns: Column[];
  measures: DeclaredMeasure[];
  rows: number;
  shown: number;
  packed: string;
}

/** What a table says of one of its measures. */
interface DeclaredMeasure {
  key: Row;
  column: string;
  label: string;
  short: string; // for a narrow list under a heading
  unit: string;
  main: boolean; // whether it comes first in its table
  card: string | null; // heading on the card of a head; null: elsewhere
  panel: boolean; // whether it is in the overview
}

/** The unit of the differences in a column of a table, and what each measure is called. */
interface DeclaredDifferences {
  unit: string;
  labels: Record<string, string>;
}

type PackedColumn = Cell[] | { words: string[]; codes: (number | null)[] };

/** A table of the paper with the values of this atlas beside it. */
interface PaperTable {
  title: string[];
  columns: { title: string; group: string; number: boolean }[];
  cells: string[][];
  notes: string[];
}

interface PackedExample extends Text {
  corpus: string;
  tree?: Tree;
  mentions?: Mention[];
  antecedents?: number[][];
  key?: boolean[];
  maps: string;
  predictions?: string;
}

/** An example with its maps and predictions unpacked. */
type Example = Omit<PackedExample, "maps" | "predictions"> & { maps: Uint8Array; predictions: Uint8Array | null };

interface Text {
  tokens: string[];
  words: string[];
  word_of: number[]; // -1 for special tokens
}

interface Tree {
  heads: number[]; // -1 for the root
  relations: string[];
  counts_as: number[];
}

interface Mention {
  start: number;
  end: number;
  head: number;
  entity: number;
}

/** What a page that is served may ask of its server. */
interface Live {
  token: string;
  predicts: "masked" | "causal" | null;
  removable: boolean;
  most_tokens: number;
  limited_by_maps: boolean; // whether the model could read more tokens
  text: string | null; // to show first
}

interface Answer {
  example: PackedExample;
  words: string[];
  predictions: Prediction[];
  overall: { kl: number; places: number; changed: number } | null;
}

/** What some layers' heads do to the tokens that are followed, each removed or cut alone. */
interface Effects {
  layers: [first: number, last: number];
  targets: string[];
  before: number; // mean log probability of the targets
  log_probabilities: number[]; // the same without each head
  kl: number[];
}

/** What the model predicts at one place, with all heads (`before`) and without those removed (`after`). */
interface Prediction {
  place: number;
  word: number; // -1 for the token after the text
  before: [token: string, probability: number, id: number][];
  after: [token: string, probability: number, id: number][];
  own: { token: string; id: number; before: number; after: number; rank_before: number; rank_after: number } | null;
  kl: number; // of before from after, in nats
}

/** One number for every head, NaN where there is none. Measures that share a scale have the same `limits`. */
interface Measure extends Omit<DeclaredMeasure, "column"> {
  id: string;
  group: string;
  values: Float64Array;
  format: (value: number) => string;
  share: boolean;
  limits?: [low: number, high: number];
}

/** A label with the heads that have it, the strongest first. */
interface Behaviour {
  label: string;
  heads: number[];
}

/** The best head for a relation, with the measure that shows how good all heads are at it. */
interface BestHead {
  direction: string;
  layer: number;
  head: number;
  said: string;
  lead: number; // over the best fixed offset
  measure?: string;
}

/** An accuracy with its interval and the baseline to compare it with. */
interface Scored {
  label: string;
  accuracy: number | null;
  low: number | null;
  high: number | null;
  baseline: number | null;
  best: boolean;
}

/** The head of the other side that belongs to a head: -1 if there is none. */
interface Match {
  other: number;
  why: "distance" | "behaviour" | "place" | "none";
  distance: number | null;
}

/** A word or a token of an example; `word` is -1 for special tokens. */
interface Unit {
  text: string;
  word: number;
  tokens: number[];
}

interface Division {
  units: Unit[];
  unitOf: number[];
}

interface TreeVerdict {
  word: number;
  head: number;
  relation: string;
  predicted: number;
  right: boolean;
}

interface MentionVerdict {
  mention: number;
  word: number;
  gold: number[];
  predicted: number;
  right: boolean;
}

/** The word under the pointer: on the side that attends or on the side that is attended to. */
type Focus = { side: string; place: number } | null;

/**
 * What is shown. In a comparison, `head` is a head of A, `other` a head of B, and `side` the one on which it was
 * chosen; -1 means none.
 */
interface Shown {
  view: string;
  head: number;
  other: number;
  side: number;
  example: number;
  unit: string;
  sink: boolean; // whether the first token and special tokens are shown
  several: string; // one head, several, or a whole layer at once
  chosen: number[]; // heads shown with `head`, if several
  measure: string;
  show: string;
  table: string;
  among: string;
  scope: string;
  direction: string;
  pinned: NonNullable<Focus>[];
  text: string; // typed in the live view
  only: string; // roles, states and heads that are singled out, with commas between
  card: boolean; // whether the card is open in the overview
  theme: string;
}

type Change = Partial<Shown>;
type Update = (shown: Shown, changed: Set<string>) => unknown;

/** What every view gets; views of a comparison get one in place of an atlas. */
interface Context<A = Atlas> {
  atlas: A;
  store: Store;
  size: () => Size;
  palette: () => Palette;
}

interface View {
  name: string;
  title: string;
  create: (context: Context<any>) => Panel;
}

/** An element, and the function that draws it again after a change. */
interface Panel {
  node: HTMLElement;
  update: Update;
}

/** What heads are drawn as, on a grid or as points. */
interface HeadPicture {
  node: SVGElement;
  select: (index: number) => void;
  glance: (index: number) => void;
  point: (index: number) => Point | null;
}
