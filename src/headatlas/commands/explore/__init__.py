"""The explorer: a page on this machine alone, where people type a text, inspect every head and remove heads.

`live` reads what the browser asks and answers it with the model, `server` turns strangers away and answers one question
at a time, and `address` knows where the server is and its token.
"""
