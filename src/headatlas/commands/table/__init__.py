"""Print a table of an atlas or a comparison, for the screen or for a paper."""

from headatlas.commands.shared.entry import Entry

ENTRY = Entry(
    "Look",
    1,
    "shared.printing:report_text",
    printing="shared.printing:NoOptions",
    arguments="DIR [NAME] ",
    in_python=False,
    light=True,
)
