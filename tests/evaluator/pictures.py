"""Pictures of one colour, and a judge that reads the colour from their pixels."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from typing import Any

from tests.evaluator.judges.scripted_server import Request, Send, says

COLOURS = {"red": (255, 0, 0), "green": (0, 160, 0), "blue": (0, 0, 255)}


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(colour: str, size: int = 4) -> bytes:
    """A square of one colour."""
    header = struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0)
    rows = (b"\0" + bytes(COLOURS[colour]) * size) * size
    parts = _chunk(b"IHDR", header), _chunk(b"IDAT", zlib.compress(rows)), _chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def data_url(colour: str) -> str:
    return f"data:image/png;base64,{base64.b64encode(png(colour)).decode()}"


def colour_of(url: str) -> str:
    """The colour of a picture's first pixel."""
    content = base64.b64decode(url.removeprefix("data:image/png;base64,"), validate=True)
    begin = content.index(b"IDAT") + 4
    (length,) = struct.unpack(">I", content[begin - 8 : begin - 4])
    pixel = tuple(zlib.decompress(content[begin : begin + length])[1:4])
    return next(name for name, one in COLOURS.items() if one == pixel)


def parts(request: Request) -> list[dict[str, Any]]:
    """The parts of the user's message: images and a text; of a text alone that one."""
    content = request.body["messages"][1]["content"]
    return content if isinstance(content, list) else [{"type": "text", "text": content}]


def colours(request: Request) -> list[str]:
    """The colours that a judge sees."""
    return [colour_of(part["image_url"]["url"]) for part in parts(request) if part["type"] == "image_url"]


async def sees_colours(request: Request, send: Send) -> None:
    """A judge of the answer `The picture is <colour>.`: the last chunk proves it if its pixels have the colour."""
    text = parts(request)[-1]["text"]
    said = next(name for name in COLOURS if f"The picture is {name}." in text)
    last = text.count("<chunk ")
    is_seen = said in colours(request)
    fact = {"fact": f"The picture is {said}.", "chunks": [last] if is_seen else [], "verdict": "S" if is_seen else "N"}
    sentence = {"sentence": 1, "facts": [fact], "addresses": True}
    reply = {"sentences": [sentence], "useful": fact["chunks"], "refusal": False}
    await says(json.dumps(reply))(request, send)
