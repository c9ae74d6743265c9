"""List the embedded models: real weights that install with pip and need no model hub."""

from headatlas.commands.shared.entry import Entry

ENTRY = Entry(
    "Look",
    6,
    "shared.report:report_models",
    printing="shared.printing:RowOptions",
    arguments="",
    in_python=False,
    light=True,
)
