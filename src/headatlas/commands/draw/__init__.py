"""Draw what heads attend to in a sentence: the darker a line, the more attention."""

from headatlas.commands.shared.entry import Entry

ENTRY = Entry("Look", 2, "draw.report:report_draw", arguments="MODEL TEXT [PAIR] ")
