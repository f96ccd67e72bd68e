"""The studio: the whole job in a browser, on this machine only unless asked otherwise.

The server builds specs and shows pages; every look at data happens in worker processes (`worker`), by the
same calls that a Python script would make. The server itself never holds a table.
"""
