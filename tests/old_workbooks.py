"""Old Excel files (.xls), written by hand: the few records of [MS-XLS] that tests need, in one container."""

import struct

LAST, TABLE, FREE = 0xFFFFFFFE, 0xFFFFFFFD, 0xFFFFFFFF


def xls(sheets):
    """A workbook of sheets, each a mapping: name, rows, merged, errors, hidden.

    A row is a list of texts, numbers or None; `merged` are areas (top, bottom, left, right); `errors` are
    cells (row, column).
    """
    parts = [_sheet(**sheet) for sheet in sheets]
    names = [sheet["name"].encode() for sheet in sheets]
    begin = len(_bof(5)) + sum(4 + 8 + len(name) for name in names) + len(_record(0x000A))
    heads, offset = b"", begin
    for sheet, name, part in zip(sheets, names, parts):
        state = 1 if sheet.get("hidden") else 0
        heads += _record(0x0085, struct.pack("<IBBBB", offset, state, 0, len(name), 0) + name)
        offset += len(part)
    return _container(_bof(5) + heads + _record(0x000A) + b"".join(parts))


def _sheet(name, rows, merged=(), errors=(), hidden=False):
    body = _bof(0x10)
    for y, row in enumerate(rows):
        for x, value in enumerate(row):
            if isinstance(value, str):
                text = value.encode()
                body += _record(0x0204, struct.pack("<HHHHB", y, x, 0, len(text), 0) + text)
            elif value is not None:
                body += _record(0x0203, struct.pack("<HHHd", y, x, 0, value))
    for y, x in errors:
        body += _record(0x0205, struct.pack("<HHHBB", y, x, 0, 7, 1))
    if merged:
        body += _record(
            0x00E5, struct.pack("<H", len(merged)) + b"".join(struct.pack("<4H", *a) for a in merged)
        )
    return body + _record(0x000A)


def _bof(kind):
    return _record(0x0809, struct.pack("<HHHHII", 0x0600, kind, 0, 0, 0, 6))


def _record(kind, body=b""):
    return struct.pack("<HH", kind, len(body)) + body


def _container(stream):
    """Sector 0 is the table of sectors, 1 the folder, the stream follows."""
    stream = stream.ljust(4096, b"\0")
    stream = stream.ljust(-(-len(stream) // 512) * 512, b"\0")
    n = len(stream) // 512
    table = [TABLE, LAST, *range(3, 2 + n), LAST]
    assert len(table) <= 128
    header = (
        bytes.fromhex("d0cf11e0a1b11ae1") + bytes(16) + struct.pack("<5H", 0x3E, 3, 0xFFFE, 9, 6) + bytes(6)
    )
    header += struct.pack("<IIIIIIIII", 0, 1, 1, 0, 4096, LAST, 0, LAST, 0)
    header += struct.pack("<109I", 0, *[FREE] * 108)
    folder = _entry("Root Entry", 5, LAST, 0, 1) + _entry("Workbook", 2, 2, len(stream), FREE) + bytes(256)
    return header + struct.pack("<128I", *table, *[FREE] * (128 - len(table))) + folder + stream


def _entry(name, kind, start, size, child):
    text = (name + "\0").encode("utf-16-le")
    entry = text.ljust(64, b"\0") + struct.pack("<HBBIII", len(text), kind, 1, FREE, FREE, child)
    return entry + bytes(36) + struct.pack("<IQ", start, size)
