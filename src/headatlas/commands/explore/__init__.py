"""Type a text in a browser, look at every head, remove heads or cut attention, and watch the predictions change.

The page is served on this machine alone. `question` reads what the browser asks, `live` answers it with the model,
`loading` is shown until there is one, `server` turns strangers away and answers one question at a time, and `address`
knows where the server is and its token.
"""

from headatlas.commands.shared.entry import Entry

ENTRY = Entry(
    "Start here",
    3,
    "shared.report:report_nothing",
    printing="shared.printing:NoOptions",
    arguments="[MODEL] [ATLAS] ",
    light=True,
)
