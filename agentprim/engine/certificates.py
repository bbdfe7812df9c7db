"""The shelf of certificates in the user's cache folder, one file for each model and version."""

import hashlib
import os
import tempfile
import threading
import warnings
from pathlib import Path

from torch import nn

from agentprim.config import VERSION
from agentprim.engine.certificate import Certificate
from agentprim.engine.fingerprint import rope_print, weights_print
from agentprim.engine.folder import cache_folder
from agentprim.errors import CertificateIgnored


def folder() -> Path:
    """Return where certificates lie."""
    return cache_folder() / "certificates"


class Shelf:
    """Find the certificate of one model, as the model is right now.

    The weights are read once; tables of frequencies are compared at every look, so that a model
    whose positions were changed after it was certified is not taken for that one.
    """

    def __init__(self, model: nn.Module, dtype: str) -> None:
        """Look for certificates of this model in this dtype of its cache."""
        self._model, self._more = model, f"{dtype} {VERSION}"
        self._weights: str | None = None
        self._read: tuple[Path, int, Certificate | None] | None = None
        self._lock = threading.Lock()

    def fingerprint(self) -> str:
        """Return the fingerprint of the model as it is now."""
        with self._lock:
            self._weights = self._weights or weights_print(self._model)
        text = f"{self._weights} {rope_print(self._model)} {self._more}"
        return hashlib.sha256(text.encode()).hexdigest()

    def find(self) -> Certificate | None:
        """Return the certificate, read when first asked for; None if there is none.

        A file that cannot be read as one is ignored with a warning; `verify` replaces it.
        """
        fingerprint = self.fingerprint()
        path = path_of(fingerprint)
        try:
            stamp = path.stat().st_mtime_ns
        except OSError:
            return None
        if self._read is None or self._read[:2] != (path, stamp):
            self._read = (path, stamp, _load(path, fingerprint))
        return self._read[2]


def path_of(fingerprint: str) -> Path:
    """Return the file of a fingerprint."""
    return folder() / f"{fingerprint[:32]}.json"


def save(certificate: Certificate, path: Path | None = None) -> Path:
    """Write a certificate to its place, or elsewhere; the file is there whole or not at all."""
    path = path or path_of(certificate.fingerprint)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(dir=path.parent, suffix=".draft")
    try:
        with os.fdopen(handle, "w") as file:
            file.write(certificate.to_json() + "\n")
        os.replace(draft, path)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise
    return path


def _load(path: Path, fingerprint: str) -> Certificate | None:
    try:
        certificate = Certificate.from_json(path.read_text())
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())
    else:
        if certificate.fingerprint == fingerprint:
            return certificate
        reason = "its fingerprint is of another model"
    warnings.warn(
        f"certificate {path} is ignored: {reason}; ap.verify(engine) writes a new one",
        CertificateIgnored, stacklevel=4,
    )  # fmt: skip
    return None
