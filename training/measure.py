"""How well the table alone finds tools: Recall@5, with the dense arm's own way of scoring."""

from collections import defaultdict
from typing import Any

import torch

from toolcrib.search.dense import WHOLE
from training.material import Material
from training.table import Table


@torch.no_grad()
def measure(material: Material, table: Table, splits: list[str]) -> dict[str, Any]:
    """Recall@5 by split and set, and by language for the sets in several; printed as it comes."""
    figures: dict[str, Any] = {}
    device = table.weight.device
    for name, content in material.sets.items():
        passages = [number for tool in content["tools"] for number in material.tools[tool]]
        owner = torch.tensor(
            [index for index, tool in enumerate(content["tools"]) for _ in material.tools[tool]], device=device
        )
        documents = table(torch.tensor(passages, device=device))
        for split in splits:
            queries = content.get(split) or []
            if not queries:
                continue
            near = table(torch.tensor([number for number, _, _ in queries], device=device)) @ documents.T
            best = torch.full((len(queries), len(content["tools"])), -1.0, device=device)
            best.scatter_reduce_(1, owner.expand(len(queries), -1), near, "amax")
            first = torch.tensor([material.tools[tool][0] for tool in content["tools"]], device=device)
            whole = table(torch.tensor([number for number, _, _ in queries], device=device)) @ table(first).T
            best = WHOLE * whole + (1 - WHOLE) * best
            top = best.topk(5, dim=1).indices.tolist()
            by_language: dict[str, list[float]] = defaultdict(list)
            for (_, language, relevant), found in zip(queries, top, strict=True):
                by_language[language].append(len(set(relevant) & set(found)) / len(relevant))
            every = [value for values in by_language.values() for value in values]
            recall = sum(every) / len(every)
            languages = {key: round(sum(v) / len(v), 3) for key, v in sorted(by_language.items()) if len(v) >= 20}
            figures[f"{split}/{name}"] = {"recall": round(recall, 4), "queries": len(every), "languages": languages}
            print(f"  {split:5s} {name:16s} {recall:.3f} ({len(every)})", flush=True)
    return figures
