"""Read corpora from files: text, labelled texts, minimal pairs, translations, and one folder per annotated kind."""
