"""What services do with notebooks that a board has to know: Colab, Kaggle, Codespaces, code-server.

Such a service shows a notebook by one name and what the notebook serves by another, which it makes
up. Its programs tell which, in the environment of a kernel or in the page.
"""

from __future__ import annotations

import os
import sys

_COLAB = ("colab.research.google.com", "*.googleusercontent.com", "*.colab.dev")
_KAGGLE = ("www.kaggle.com", "*.kaggle.net", "*.kaggleusercontent.com")
_CODESPACES = ("*.github.dev", "*.vscode-cdn.net")

#: Where Kaggle shows its notebook servers; each knows only its path there.
_KAGGLE_HOST = "https://kkb-production.jupyter-proxy.kaggle.net"


def surroundings() -> list[str]:
    """Flags that a service needs on which this notebook runs."""
    names: tuple[str, ...] = ()
    if "google.colab" in sys.modules or "COLAB_RELEASE_TAG" in os.environ:
        names = _COLAB
    elif _is_kaggle():
        names = _KAGGLE
    elif "CODESPACE_NAME" in os.environ:
        names = _CODESPACES
    return [f"--trusted-host={name}" for name in names]


def find_proxy(port: int) -> str | None:
    """Where a proxy shows the port, if the machine says so, in TensorBoard's word as well."""
    for name in ("TRACKLIGHT_PROXY_URL", "TENSORBOARD_PROXY_URL"):
        address = os.environ.get(name)
        if address:
            return address.replace("%PORT%", str(port))
    return None


def find_shown(port: int) -> str | None:
    """Where the service shows the port in browsers; a notebook's own proxy is asked before."""
    if _is_kaggle():
        base = _find_base()
        return base and f"{_KAGGLE_HOST}{base}proxy/{port}"
    # VS Code in a browser: code-server, and services that are built on it.
    template = os.environ.get("VSCODE_PROXY_URI", "")
    if "{{port}}" in template and template.startswith(("http://", "https://")):
        return template.replace("{{port}}", str(port)).rstrip("/")
    name = os.environ.get("CODESPACE_NAME")
    domain = os.environ.get("GITHUB_CODESPACES_PORT_FORWARDING_DOMAIN", "app.github.dev")
    return f"https://{name}-{port}.{domain}" if name else None


def _is_kaggle() -> bool:
    return "KAGGLE_KERNEL_RUN_TYPE" in os.environ


def _find_base() -> str | None:
    """The path of the notebook server that runs here, which on Kaggle holds its secret."""
    try:
        from jupyter_server.serverapp import list_running_servers
    except ImportError:
        return None
    bases = [str(server["base_url"]) for server in list_running_servers()]
    return bases[0] if bases else None
