"""The work behind `draw`: attention as lines between two columns of words (figures 1 and 5)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from headatlas.commands.draw.options import DrawOptions
from headatlas.commands.shared.options import list_given, list_names
from headatlas.errors import SettingError
from headatlas.models.stacks import check_head, parse_head
from headatlas.views.figures.lines import attention_lines_figure
from headatlas.views.figures.sentence import Sentence, check_texts, head_maps, read_sentence, word_labels
from headatlas.views.figures.style import picture_file, save_figure


def run_draw(options: DrawOptions) -> Figure:
    """Draw the heads on a text, and save the picture if a file is named."""
    target = None if options.out is None else picture_file(Path(options.out))
    heads = [parse_head(name) for name in list_names(options.head) or ()]
    check_texts(options.text, options.pair)
    model = options.load(options.model)
    stack = model.choose_stack(options.attention)
    for layer, number in heads:
        check_head(layer, number, model.shapes[stack], model.name)
    sentence = read_sentence(model, options.text, options.pair)
    marked = _marked(sentence, list_given(options.red), options.words)
    special = sentence.special if options.hide_special else ()
    hidden = {int(sentence.unit[place]) if options.words else place for place in special}
    maps = head_maps(model, sentence, heads, stack, by_word=options.words)
    captions = [f"Head {layer}-{number}" for layer, number in heads]
    labels = word_labels(model, sentence) if options.words else sentence.tokens
    figure = attention_lines_figure(labels, list(zip(captions, maps, strict=True)), red=marked, hidden=hidden)
    if target is not None:
        save_figure(figure, target[0], (target[1],))
    return figure


def _marked(sentence: Sentence, red: Sequence[str], words: bool) -> set[int]:
    """Find the places of the words to mark, wherever they occur and however they are capitalised."""
    marked: set[int] = set()
    for wanted in red:
        places = [
            place
            for place, (token, unit) in enumerate(zip(sentence.tokens, sentence.unit, strict=True))
            if wanted.casefold() in (token.strip().casefold(), sentence.words[unit].casefold())
        ]
        if not places:
            listed = ", ".join(dict.fromkeys(sentence.words if words else (*sentence.words, *sentence.tokens)))
            raise SettingError(f"{wanted!r} is not a word of the text. Its words: {listed}.")
        marked |= {int(sentence.unit[place]) if words else place for place in places}
    return marked
