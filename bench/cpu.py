"""Run the benchmarks of this CPU, keep the figures and show them: `python -m bench.cpu`.

`python -m bench.cpu peers` runs those of other projects beside ours, as far as they are installed.
Further arguments go to pytest, for example `-k rotate` or `--threads 1`.
"""

import re
import sys
from pathlib import Path

import cpuinfo
import pytest

from bench.show import show

ROOT = Path(__file__).resolve().parent.parent


def main(arguments: list[str]) -> int:
    """Run all, or what pytest's arguments choose; only a whole run is kept under its CPU's name."""
    brand = cpuinfo.get_cpu_info().get("brand_raw", "unknown")
    name = re.sub(r"[^a-z0-9]+", "_", brand.lower()).strip("_")
    peers = arguments[:1] == ["peers"]
    arguments = arguments[1:] if peers else arguments
    kept = ROOT / "bench" / "results" / f"{'peers' if peers else 'cpu'}_{name}.json"
    path = ROOT / "build" / "bench.json"
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    quiet = ["-p", "no:cacheprovider", "--benchmark-quiet"]
    folder, peers_folder = str(ROOT / "bench"), str(ROOT / "bench" / "peers")
    where = [peers_folder, "-rs"] if peers else [folder, f"--ignore={peers_folder}"]
    code = pytest.main([*where, *quiet, f"--benchmark-json={path}", *arguments])
    if path.exists() and path.stat().st_size:
        if not arguments:
            path = path.replace(kept)
        show(path)
        print(path.relative_to(ROOT))
    return int(code)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
