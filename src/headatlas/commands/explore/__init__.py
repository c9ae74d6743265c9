"""The explorer: a page on this machine alone, in which people type a text, look at every head and remove some.

`requests` reads what the browser asks, `live` answers it with the model, `predictions` says which words it expects,
`turns` lets one answer be worked out at a time, `guard` turns strangers away, `server` joins them, `connections` holds
the browser's connections, `address` knows where all this is found and by which token.
"""
