"""Time and memory of giving 4k, 100k and 1M items an ID each, collisions resolved.

Random clustered vectors of width 64, tokenizer `rq-kmeans` in the paper's shape (4 x 256); another one by name:
`benchmarks/tokenize.py multi-head-vqvae` (one pass over the items, so that the work per item is the same at every
size). Every size runs in a process of its own, so that its peak memory is its own. The last line is JSON.
"""

from __future__ import annotations

import os
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120  pathlib would import our own name


def main() -> None:
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != FOLDER]  # noqa: PTH100
    import json
    import subprocess

    tokenizer = sys.argv[1] if len(sys.argv) > 1 else "rq-kmeans"
    results = {}
    for name, n_items in {"4k": 4_000, "100k": 100_000, "1m": 1_000_000}.items():
        command = [sys.executable, f"{FOLDER}/workers/tokenize_items.py", tokenizer, str(n_items)]
        output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
        results[name] = figures = json.loads(output.splitlines()[-1])
        shown = ", ".join(f"{key} {value:.4g}" for key, value in figures.items())
        print(f"{tokenizer}, {n_items:,} items: {shown}", flush=True)
    seconds = {f"seconds_{name}": round(figures["seconds"], 2) for name, figures in results.items()}
    print(json.dumps({**seconds, "peak_gib_1m": round(results["1m"]["peak_gib"], 3), "tokenizer": tokenizer}))


def be_the_standard_library() -> None:
    """Scripts in this folder have it first on their path, so their `import tokenize` finds this file: pass it on."""
    import importlib.util

    spec = importlib.util.spec_from_file_location("tokenize", os.path.join(os.path.dirname(os.__file__), "tokenize.py"))  # noqa: PTH118, PTH120
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["tokenize"] = module
    spec.loader.exec_module(module)


if __name__ == "__main__":
    main()
else:
    be_the_standard_library()
