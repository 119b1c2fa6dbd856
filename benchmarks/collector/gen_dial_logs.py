"""Deterministic generator of AI DIAL prompt-log lines (stdlib only).

Every line is written the way GfLogStore.java of ai-dial-core writes it: same
key order, same escaping (``\\b \\f \\n \\r \\t " \\ /`` and nothing else), empty
strings for absent headers, numbers unquoted, ``status`` a string, timestamps as
``LocalDateTime`` ISO with trailing zeros of the fraction cut, and, for
streaming answers, an ``assembled_response`` whose choices hold **delta** (the
writer merges chunks and never renames it to ``message``).

``lines()`` is endless and seeded; ``benchmarks.collector.write_dial_logs`` writes files of it.
"""

# A table-like layout, kept as it is: one line here is one part of a log line.
# fmt: off
# ruff: noqa: D101, D102, D103, E501, SIM905, PERF401

from __future__ import annotations

import bisect
import datetime as dt
import itertools
import json
import random
import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass

# name, class, what it is billed with (None: no token usage)
DEPLOYMENTS = [
    ("gpt-4o", "chat"),
    ("dial-rag", "rag"),
    ("text-embedding-3-small", "embeddings"),
    ("gpt-4o-mini", "chat"),
    ("anthropic.claude-sonnet-4", "chat"),
    ("hr-policies-assistant", "rag"),
    ("gemini-2.5-pro", "chat"),
    ("applications/9c8bYtq2xTzEe4nQ/support-bot__1.2.0", "rag"),
    ("gpt-35-turbo", "chat"),
    ("mistral-large", "chat"),
]
ZIPF_S = 1.0
# share of lines of each class; the rest of 1.0 is the deployment's own traffic
P_RATE, P_ERROR, P_SECURED = 0.06, 0.06, 0.01
MALFORMED = [  # (class, weight) of lines no JSON parser should take as they are
    ("truncated", 6),  # gflog cuts at entryMaxCapacity, or the process died
    ("stacktrace", 3),  # plain text that got into the same file
    ("control_char", 4),  # the writer leaves U+0001..U+001F other than \b\f\n\r\t raw
    ("glued", 3),  # two objects on one line (lost newline)
    ("bad_utf8", 2),  # cut multi-byte sequence
    ("nul_run", 1),  # sparse block after a crash
    ("int_status", 1),  # other writer version: "status":200 (valid JSON, other type)
]

COMMON = (
    "the of and to in a is that for it as was with be by on not he his but at are this "
    "have from or had an they which one you were all her she there would their we him "
    "been has when who will no more if out so up said what its about than into them can "
    "only other time new some could these two may first then do any like my now over such "
    "our man me even most made after also did many off before must well back through years "
    "policy employee contract invoice deployment retrieval document section customer "
    "model token latency budget quarter revenue security access request response service"
).split()
NON_ASCII = [
    "договор сотрудник отпуск политика отчёт данные система модель ответ вопрос".split(),
    "Überprüfung Größe Straße für Änderung Mitarbeiter Kündigung Verträge".split(),
    "合同 员工 报告 系统 数据 模型 问题 答案 安全 访问".split(),
    "naïve café résumé — “quoted” … € £ 😀 🚀".split(),
]
ESC = (("\\", "\\\\"), ('"', '\\"'), ("/", "\\/"), ("\n", "\\n"), ("\r", "\\r"),
       ("\t", "\\t"), ("\b", "\\b"), ("\f", "\\f"))


def java_escape(s: str) -> str:
    """GfLogStore.escape()."""
    for a, b in ESC:
        if a in s:
            s = s.replace(a, b)
    return s


def iso_local(ms: int) -> str:
    """LocalDateTime.format(ISO_DATE_TIME) for epoch milliseconds, UTC."""
    t = dt.datetime.fromtimestamp(ms // 1000, dt.UTC).strftime("%Y-%m-%dT%H:%M:%S")
    frac = f"{ms % 1000:03d}".rstrip("0")
    return f"{t}.{frac}" if frac else t


def jdump(o) -> str:
    return json.dumps(o, ensure_ascii=False, separators=(",", ":"))


@dataclass
class Meta:
    """What a correct parser extracts from the line (the manifest's row)."""

    kind: str
    malformed: str | None = None
    deployment: str | None = None
    status: str | None = None
    time: str | None = None
    response_id: str | None = None
    question: str | None = None  # sha1[:12] of the text in the manifest
    answer: str | None = None
    contexts: int = 0
    size: int = 0


class Corpus:
    def __init__(self, seed: int = 1, date: str = "2026-10-01", pool_words: int = 400_000):
        self.r = random.Random(seed)
        self.t0 = int(dt.datetime.fromisoformat(date + "T00:00:00+00:00").timestamp() * 1000)
        self.cum = list(itertools.accumulate(1 / (i + 1) ** ZIPF_S for i in range(len(DEPLOYMENTS))))
        self.mal_cum = list(itertools.accumulate(w for _, w in MALFORMED))
        self.recent: dict[str, list[str]] = {}
        self._make_pool(pool_words)

    # -- text ---------------------------------------------------------------
    def _make_pool(self, n: int) -> None:
        r = self.r
        syl = [c + v + e for c in "bcdfgklmnprstvz" for v in "aeiou" for e in ("", "n", "r", "s", "t")]
        vocab = COMMON + ["".join(r.choices(syl, k=r.randint(2, 4))) for _ in range(12_000)]
        weights = [1 / (i + 3) ** 0.95 for i in range(len(vocab))]
        words = r.choices(vocab, cum_weights=list(itertools.accumulate(weights)), k=n)
        parts, sent = [], 0
        for w in words:
            sent += 1
            if r.random() < 0.004:
                w = f"{r.randint(1, 99999)}"
            elif r.random() < 0.002:
                w = f'"{w}"'
            elif r.random() < 0.001:
                w = f"https://docs.example.com/{w}/page?id={r.randint(1, 9999)}"
            if sent > 6 and r.random() < 0.09:
                sent = 0
                w += "." if r.random() < 0.8 else (".\n\n" if r.random() < 0.7 else ":\n- ")
            elif r.random() < 0.06:
                w += ","
            parts.append(w)
        self.pool = " ".join(parts)
        self.pool_len = len(self.pool) - 200_000
        self.pool_na = []
        for lang in NON_ASCII:
            ws = r.choices(lang + COMMON[:40], k=20_000)
            self.pool_na.append(" ".join(ws))
        self.floats = [repr(round(r.gauss(0, 0.03), 9)) for _ in range(60_000)]

    def text(self, n: int, foreign: bool = False) -> str:
        r = self.r
        if foreign:
            p = r.choice(self.pool_na)
            n = min(n, len(p) // 2)
            i = p.index(" ", r.randrange(len(p) - n - 100)) + 1
        else:
            p = self.pool
            i = p.index(" ", r.randrange(self.pool_len)) + 1
        return p[i:i + n].rstrip()

    # -- pieces ---------------------------------------------------------------
    def _uuid(self) -> str:
        return str(uuid.UUID(int=self.r.getrandbits(128), version=4))

    def _attachments(self, n: int, foreign: bool) -> list[dict]:
        r = self.r
        return [
            {
                "index": i,
                "type": "text/markdown",
                "title": f"[{i + 1}] {self.text(30).title()}",
                "data": self.text(max(80, int(r.gauss(800, 160))), foreign),
                "reference_url": f"files/{self.bucket}/doc-{r.randint(1, 500)}.pdf#page={r.randint(1, 90)}",
                "reference_type": "application/pdf",
            }
            for i in range(n)
        ]

    def _history(self, turns: int, foreign: bool, rag: bool) -> list[dict]:
        r = self.r
        msgs: list[dict] = []
        if r.random() < 0.7:
            msgs.append({"role": "system", "content": self.text(r.randint(100, 1500))})
        for _ in range(turns - 1):
            msgs.append({"role": "user", "content": self.text(r.randint(20, 500), foreign)})
            a: dict = {"role": "assistant", "content": self.text(r.randint(150, 2200), foreign)}
            if rag:
                at = self._attachments(r.randint(5, 10), foreign)
                for x in at:
                    del x["index"]
                a["custom_content"] = {"attachments": at}
            msgs.append(a)
        q: dict = {"role": "user", "content": self.text(r.randint(20, 400), foreign)}
        msgs.append(q)
        return msgs

    def _chunks(self, rid, model, created, answer, rag, attachments, usage) -> tuple[str, dict]:
        """Raw SSE body and the object GfLogStore assembles from it."""
        head = f'data: {{"id":"{rid}","object":"chat.completion.chunk","created":{created},"model":"{model}",'
        toks = re.findall(r"\s*\S{1,7}|\s+$", answer)
        out = [head + '"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}],"usage":null}']
        delta: dict = {"role": "assistant", "content": answer}
        if rag:
            stage = {"index": 0, "name": "Searching documents", "status": "completed"}
            for a in attachments:
                out.append(head + f'"choices":[{{"index":0,"delta":{{"custom_content":{{"attachments":[{jdump(a)}]}}}},"finish_reason":null}}],"usage":null}}')
            out.append(head + f'"choices":[{{"index":0,"delta":{{"custom_content":{{"stages":[{jdump(stage)}]}}}},"finish_reason":null}}],"usage":null}}')
            delta["custom_content"] = {
                "attachments": [{k: v for k, v in a.items() if k != "index"} for a in attachments],
                "stages": [{k: v for k, v in stage.items() if k != "index"}],
            }
        pre, post = head + '"choices":[{"index":0,"delta":{"content":', '},"finish_reason":null}],"usage":null}'
        out.extend([pre + json.dumps(t, ensure_ascii=False) + post for t in toks])
        out.append(head + f'"choices":[{{"index":0,"delta":{{}},"finish_reason":"stop"}}],"usage":{jdump(usage)}}}')
        out.append("data: [DONE]")
        assembled = {
            "id": rid, "object": "chat.completion", "created": created, "model": model,
            "usage": usage,
            "choices": [{"finish_reason": "stop", "delta": delta}],
        }
        return "\n\n".join(out) + "\n\n", assembled

    # -- one line ---------------------------------------------------------------
    def line(self) -> tuple[bytes, Meta]:
        r = self.r
        x = r.random() * self.cum[-1]
        name, cls = DEPLOYMENTS[bisect.bisect(self.cum, x)]
        self.bucket = "9c8bYtq2xTzEe4nQ"
        ms = self.t0 + r.randrange(86_400_000)
        created = ms // 1000
        foreign = r.random() < 0.1
        ascii_body = r.random() < 0.4  # Python clients send \uXXXX
        uri_name = name.replace("/", "%2F") if "/" in name else name
        uri = f"/openai/deployments/{uri_name}/chat/completions?api-version=2024-10-21"
        status, rid, question, answer, contexts = "200", None, None, None, []
        req: dict | None
        resp, assembled, usage = "", "", None
        u = r.random()
        if u < P_RATE:
            kind = "rate"
            uri = f"/v1/{name}/rate"
            known = self.recent.get(name)
            req = {"rate": r.random() < 0.7, "responseId": r.choice(known) if known else self._uuid()}
            if r.random() < 0.3:
                req["comment"] = self.text(r.randint(10, 200), foreign)
        elif cls == "embeddings":
            kind = "embeddings"
            uri = uri.replace("chat/completions", "embeddings")
            n = r.choice((1, 1, 1, 2, 4, 8))
            req = {"input": [self.text(r.randint(50, 1500), foreign) for _ in range(n)], "encoding_format": "float"}
            data = []
            for i in range(n):
                k = r.randrange(len(self.floats) - 1536)
                data.append(f'{{"object":"embedding","index":{i},"embedding":[{",".join(self.floats[k:k + 1536])}]}}')
            pt = sum(len(t) for t in req["input"]) // 4
            usage = {"prompt_tokens": pt, "total_tokens": pt}
            resp = f'{{"object":"list","data":[{",".join(data)}],"model":"{name}","usage":{jdump(usage)}}}'
            assembled = resp
            usage = {"completion_tokens": 0, **usage}
        else:
            rag = cls == "rag"
            turns = min(20, 1 + int(r.expovariate(1 / (2.0 if rag else 4.0))))
            msgs = self._history(turns, foreign, rag)
            question = msgs[-1]["content"]
            stream = r.random() < (0.95 if rag else 0.7)
            req = {"messages": msgs, "model": name, "stream": stream, "temperature": r.choice((0, 0.2, 1))}
            if not rag and r.random() < 0.04:  # vision: content is a list of parts
                msgs[-1]["content"] = [{"type": "text", "text": question},
                                       {"type": "image_url", "image_url": {"url": "data:image/png;base64," + r.randbytes(3000).hex()}}]
            if u < P_RATE + P_ERROR:
                kind = "error"
                status = r.choice(("400", "401", "429", "429", "500", "502", "504"))
                if status in ("502", "504"):
                    resp = f"<html>\r\n<head><title>{status} Bad Gateway</title></head>\r\n<body>{self.text(80)}</body></html>"
                else:
                    resp = jdump({"error": {"message": self.text(r.randint(40, 200)), "type": "runtime_error", "code": status}})
                assembled = resp
            else:
                kind = ("rag" if rag else "chat") + ("_stream" if stream else "_plain")
                rid = "chatcmpl-" + r.randbytes(15).hex()[:29] if not rag else self._uuid()
                ntok = r.randint(50, 400)
                answer = self.text(ntok * 5, foreign)
                att = self._attachments(r.randint(5, 10), foreign) if rag else []
                contexts = [a["data"] for a in att]
                usage = {"completion_tokens": ntok, "prompt_tokens": sum(len(str(m["content"])) for m in msgs) // 4}
                usage["total_tokens"] = sum(usage.values())
                if stream:
                    resp, asm = self._chunks(rid, name, created, answer, rag, att, usage)
                    assembled = jdump(asm)
                else:
                    msg: dict = {"role": "assistant", "content": answer}
                    if rag:
                        msg["custom_content"] = {"attachments": [{k: v for k, v in a.items() if k != "index"} for a in att]}
                    resp = jdump({"id": rid, "object": "chat.completion", "created": created, "model": name,
                                  "choices": [{"index": 0, "message": msg, "finish_reason": "stop"}], "usage": usage})
                    assembled = resp
                ids = self.recent.setdefault(name, [])
                ids.append(rid)
                del ids[:-50]
        secured = u > 1 - P_SECURED
        if secured:
            kind, rid, question, answer, contexts = "secured", None, None, None, []
        body = json.dumps(req, ensure_ascii=ascii_body, separators=(", ", ": ") if ascii_body else (",", ":"))

        e = java_escape
        chat = self._uuid() if r.random() < 0.7 else ""
        title = self.text(18, foreign).title() if r.random() < 0.5 else ""
        p = ['{"apiType":"DialOpenAI","chat":{"id":"', chat, '"},"project":{"id":"', f"project-{r.randint(1, 12)}",
             '"},"user":{"id":"', r.randbytes(32).hex() if r.random() < 0.8 else "", '","title":"', e(title), '"}']
        if usage is not None:
            p.append(f',"token_usage":{{"completion_tokens":{usage["completion_tokens"]},"prompt_tokens":{usage["prompt_tokens"]},"total_tokens":{usage["total_tokens"]}')
            if cls != "rag":
                p.append(f',"deployment_price":{(usage["prompt_tokens"] * 25 + usage["completion_tokens"] * 100) / 1e7:.7f}')
            p.append(f',"price":{(usage["prompt_tokens"] * 30 + usage["completion_tokens"] * 120) / 1e7:.7f}}}')
        p += [',"deployment":"', e(name), '"']
        parent = r.random() < 0.25
        if parent:
            p.append(',"parent_deployment":"dial-rag"')
        if r.random() < 0.9:
            p.append(',"execution_path":' + jdump((["dial-rag"] if parent else []) + [name]))
        if not secured:
            p += [',"assembled_response":"', e(assembled), '"']
        p += [',"trace":{"trace_id":"', r.randbytes(16).hex(), '","core_span_id":"', r.randbytes(8).hex()]
        if parent:
            p += ['","core_parent_span_id":"', r.randbytes(8).hex()]
        p += ['"},"request":{"protocol":"HTTP/1.1","method":"POST","uri":"'.replace("/", "\\/"), e(uri), '","time":"', iso_local(ms)]
        if not secured:
            p += ['","body":"', e(body)]
        p += ['"},"response":{"status":"', status]
        if kind != "rate":
            p += ['","upstream_uri":"', e(f"https://upstream-{r.randint(1, 3)}.example.com/{name}")]
        if not secured:
            p += ['","body":"', e(resp)]
        p.append('"}}')
        raw = "".join(p).encode("utf-8", "replace")
        return raw, Meta(kind, None, name, status, iso_local(ms), rid, question, answer, len(contexts), len(raw))

    def malform(self, raw: bytes, m: Meta) -> tuple[bytes, Meta]:
        r = self.r
        kind = MALFORMED[bisect.bisect(self.mal_cum, r.random() * self.mal_cum[-1])][0]
        if kind == "truncated":
            raw = raw[: r.randint(20, len(raw) - 2)]
        elif kind == "stacktrace":
            raw = b"\tat com.epam.aidial.core.server.log.GfLogStore.doSave(GfLogStore.java:%d)" % r.randint(1, 400)
        elif kind == "control_char":
            i = raw.find(b'"body":"') + 8 if b'"body":"' in raw else raw.find(b'"title":"') + 9
            raw = raw[:i] + bytes([r.choice((0x01, 0x1B, 0x0B, 0x1F))]) + raw[i:]
        elif kind == "glued":
            raw = raw + self.line()[0]
        elif kind == "bad_utf8":
            i = raw.find(b'"title":"') + 9
            raw = raw[:i] + b"\xe2\x82" + raw[i:]
        elif kind == "nul_run":
            raw = b"\x00" * r.randint(16, 4096)
        elif kind == "int_status":
            raw = raw.replace(b'"status":"%s"' % m.status.encode(), b'"status":%s' % m.status.encode())
        m.malformed, m.size = kind, len(raw)
        return raw, m


def lines(seed: int = 1, date: str = "2026-10-01", malformed: float = 0.02) -> Iterator[tuple[bytes, Meta]]:
    """Endless stream of (line without newline, Meta)."""
    c = Corpus(seed, date)
    while True:
        raw, m = c.line()
        if c.r.random() < malformed:
            raw, m = c.malform(raw, m)
        yield raw, m
