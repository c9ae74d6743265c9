"""Print a table of an atlas or a comparison, for the screen or for a paper."""

from headatlas.commands.shared.entry import Entry

ENTRY = Entry(
    "Look",
    1,
    "table.report:report_table",
    printing="shared.printing:RowOptions",
    arguments="DIR [NAME] ",
    in_python=False,
    light=True,
)
