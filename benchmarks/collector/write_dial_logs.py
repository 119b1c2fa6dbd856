"""Write files of DIAL log lines, with a manifest of what a parser must find in them.

    python -m benchmarks.collector.write_dial_logs --out /tmp/corpus --bytes 1GiB --files 8 --gzip

writes
    date=D<epoch>-<uuid>.log[.gz]   the name pattern the incumbent parser expects
    clean/date=...                  the same lines without the malformed ones
    manifest.jsonl                  one object a line: what a parser must find

Same arguments -> same bytes.
"""

from __future__ import annotations

import argparse
import datetime as dt
import gzip
import hashlib
import json
import random
import re
import uuid
from dataclasses import asdict
from pathlib import Path

from benchmarks.collector.gen_dial_logs import lines


def digest(text: str | None) -> str | None:
    """Give the first 12 hex digits of a text's SHA-1, by which the manifest names the text."""
    return None if text is None else hashlib.sha1(text.encode("utf-8", "replace")).hexdigest()[:12]


def parse_size(s: str) -> int:
    """Bytes of a size such as 500k or 1GiB."""
    m = re.fullmatch(r"(\d+)\s*([kKmMgG]i?[bB]?)?", s)
    if not m:
        raise argparse.ArgumentTypeError(s)
    return int(m[1]) << {"k": 10, "m": 20, "g": 30, "": 0}[(m[2] or "")[:1].lower()]


def main() -> None:
    """Write the files that the command line asks for."""
    ap = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    ap.add_argument("--out", required=True)
    ap.add_argument("--bytes", type=parse_size, default=1 << 30)
    ap.add_argument("--files", type=int, default=8)
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--date", default="2026-10-01")
    ap.add_argument("--malformed", type=float, default=0.02)
    ap.add_argument("--gzip", action="store_true", help="also write .log.gz (level 6)")
    ap.add_argument("--clean", action="store_true", help="also write clean/ without malformed lines")
    a = ap.parse_args()
    out = Path(a.out)
    clean = out / "clean"
    for d in [out] + ([clean] if a.clean else []):
        d.mkdir(parents=True, exist_ok=True)
    gen = lines(a.seed, a.date, a.malformed)
    total = n = 0
    with (out / "manifest.jsonl").open("w") as man:
        for k in range(a.files):
            ids = random.Random(f"{a.seed}-{k}")
            stamp = int(dt.datetime.fromisoformat(a.date + "T00:00:00+00:00").timestamp()) + k * 3600
            fname = f"date={a.date}{stamp}-{uuid.UUID(int=ids.getrandbits(128), version=4)}.log"
            quota, size = a.bytes // a.files, 0
            with (out / fname).open("wb") as f, (clean / fname if a.clean else Path("/dev/null")).open("wb") as c:
                while size < quota:
                    raw, m = next(gen)
                    m.question, m.answer = digest(m.question), digest(m.answer)
                    man.write(json.dumps({"file": fname, **asdict(m)}) + "\n")
                    f.write(raw + b"\n")
                    if m.malformed is None:
                        c.write(raw + b"\n")
                    size += len(raw) + 1
                    n += 1
            total += size
            if a.gzip:
                for p in [out / fname] + ([clean / fname] if a.clean else []):
                    with (
                        p.open("rb") as src,
                        p.with_name(p.name + ".gz").open("wb") as dst,
                        gzip.GzipFile("", "wb", 6, dst, mtime=0) as g,
                    ):
                        while b := src.read(1 << 20):
                            g.write(b)
    print(f"{n} lines, {total} bytes, mean {total / n:.0f} bytes/line")


if __name__ == "__main__":
    main()
