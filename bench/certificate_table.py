"""Write the figures of a certificate between two marks of a document, or check that they are there.

python bench/certificate_table.py            # writes docs/trust.md from the committed JSON
"""

import argparse
from pathlib import Path

from agentprim import Certificate
from agentprim.trust.table import markdown

ROOT = Path(__file__).parents[1]
RESULT = ROOT / "bench/results/certificate_smollm2.json"
DOCUMENT = ROOT / "docs/trust.md"
BEGIN, END = "<!-- certificate: begin -->", "<!-- certificate: end -->"


def fill(document: str, certificate: Certificate) -> str:
    """Return a document with the figures between its marks.

    Raises:
        ValueError: The marks are not there, once each, in order.
    """
    head, begin, rest = document.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end or BEGIN in rest or END in tail:
        raise ValueError(f"document must have {BEGIN} and {END} once each, got another")
    return f"{head}{BEGIN}\n\n{markdown(certificate)}\n{END}{tail}"


def main() -> None:
    """Write the document."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("certificate", type=Path, nargs="?", default=RESULT)
    parser.add_argument("--document", type=Path, default=DOCUMENT)
    options = parser.parse_args()
    certificate = Certificate.from_json(options.certificate.read_text())
    options.document.write_text(fill(options.document.read_text(), certificate))


if __name__ == "__main__":
    main()
