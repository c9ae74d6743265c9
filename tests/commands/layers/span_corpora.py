"""Small corpora whose answers a probe can find: a word's tag goes with the word, and with it the entity's type."""

import json
import random

NOUNS, VERBS = ("dog", "cat", "man", "house", "river"), ("saw", "ran", "sat", "ate")


def write_treebank(path, sentences, seed):
    """Noun, verb, noun: the verb is the root; every noun's mention of the last word's entity."""
    dice = random.Random(seed)
    lines = ["# newdoc"]
    for _ in range(sentences):
        first, verb, second = dice.choice(NOUNS), dice.choice(VERBS), dice.choice(NOUNS)
        for number, (word, tag, head, relation) in enumerate(
            ((first, "NOUN", 2, "nsubj"), (verb, "VERB", 0, "root"), (second, "NOUN", 2, "obj")), start=1
        ):
            misc = "_" if tag == "VERB" else f"Entity=({word})"
            lines.append(f"{number}\t{word}\t_\t{tag}\t_\t_\t{head}\t{relation}\t_\t{misc}")
        lines.append("")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def write_entities(path, texts, seed, types=("animal", "place")):
    dice = random.Random(seed)
    rows = []
    for _ in range(texts):
        word = dice.choice(("dog", "cat", "house", "river"))
        rows += ["the\tO", f"{word}\tB-{types[word in ('house', 'river')]}", ""]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def write_json(path, texts, seed, several=False):
    dice = random.Random(seed)
    lines = []
    for _ in range(texts):
        word = dice.choice(NOUNS)
        label = [label for label in ("short", "wet") if (len(word) < 4, word == "river")[label == "wet"]]
        target = {"span1": [1, 2], "label": label if several else (label or ["other"])[0]}
        lines.append(json.dumps({"text": f"the {word}", "targets": [target]}))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
