"""Any head of a model on any sentence, as lines between two columns of words (figures 1 and 5)."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from headatlas.errors import SettingError
from headatlas.models.heads import check_head, parse_head
from headatlas.models.loading import open_model
from headatlas.models.model import Model
from headatlas.models.stacks import Stack
from headatlas.views.figures.lines import attention_lines_figure
from headatlas.views.figures.sentence import Sentence, check_texts, head_maps, read_sentence, word_labels


def draw(
    model: str | Model,
    text: str,
    pair: str | None = None,
    *,
    head: str | Sequence[str],
    words: bool = True,
    hide_special: bool = False,
    red: str | Sequence[str] = (),
    stack: Stack | None = None,
    device: str = "auto",
    revision: str | None = None,
    trust_remote_code: bool = False,
) -> Figure:
    """Draw what one or several heads attend to in a text: the darker a line, the more attention.

    >>> draw("embedded", "The cat sat on the mat.", head=["2-4", "5-1"], red="cat").savefig("cat.png")  # doctest: +SKIP

    head: layer-head from 1, such as "8-10".
    pair: a second text, as in ``[CLS] text [SEP] pair [SEP]``.
    words: between words, to a split word the sum over its tokens and from it the mean; else between tokens.
    hide_special: leave out the tokens around the text and the attention they get, often most of it.
    red: words to mark, with the lines that leave them.
    stack: for an encoder-decoder, whose heads: "encoder" (default) or "decoder".

    A word that the tokenizer does not know stands after the token that the model saw in its place, such as [UNK].
    """
    heads = [parse_head(name) for name in ([head] if isinstance(head, str) else head)]
    check_texts(text, pair)
    model = open_model(model, device=device, revision=revision, trust_remote_code=trust_remote_code)
    stack = model.choose_stack(stack)
    for layer, number in heads:
        check_head(layer, number, model.shapes[stack], model.name)
    sentence = read_sentence(model, text, pair)
    marked = _marked(sentence, [red] if isinstance(red, str) else red, words)
    hidden = {int(sentence.unit[place]) if words else place for place in sentence.special} if hide_special else set()
    maps = head_maps(model, sentence, heads, stack, by_word=words)
    captions = [f"Head {layer}-{number}" for layer, number in heads]
    labels = word_labels(model, sentence) if words else sentence.tokens
    return attention_lines_figure(labels, list(zip(captions, maps, strict=True)), red=marked, hidden=hidden)


def _marked(sentence: Sentence, red: Sequence[str], words: bool) -> set[int]:
    """Places in the columns that carry the words to mark, wherever they occur and however they are capitalised."""
    marked: set[int] = set()
    for wanted in red:
        places = [
            place
            for place, (token, unit) in enumerate(zip(sentence.tokens, sentence.unit, strict=True))
            if wanted.casefold() in (token.casefold(), sentence.words[unit].casefold())
        ]
        if not places:
            there = ", ".join(dict.fromkeys(sentence.words if words else (*sentence.words, *sentence.tokens)))
            raise SettingError(f"{wanted!r} is no word of the text. There are: {there}.")
        marked |= {int(sentence.unit[place]) if words else place for place in places}
    return marked
