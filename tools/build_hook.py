"""Hatch's build hook: compiles the kernels and builds the page whenever tracklight is packaged.

``pip install .``, ``pip install -e .`` and ``python -m build`` all come through here.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).parent))

import build_kernel
import build_web
import third_party


class TracklightBuildHook(BuildHookInterface[Any]):
    """An sdist takes the page along; a wheel, editable or not, takes the kernels as well."""

    def dependencies(self) -> list[str]:
        """What this one build needs besides ``build-system.requires``."""
        return build_web.list_requirements()

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        build_web.build()
        if self.target_name == "wheel":
            self._add_kernels(build_data, is_editable=version == "editable")
            self._add_sbom(build_data)

    def _add_kernels(self, build_data: dict[str, Any], is_editable: bool) -> None:
        stable_abi = not is_editable and build_kernel.has_stable_abi()
        kernels = build_kernel.build(stable_abi)
        if not kernels:
            return
        build_data["artifacts"].extend(kernel.as_posix() for kernel in kernels)
        build_data["pure_python"] = False
        build_data["infer_tag"] = not stable_abi
        if stable_abi:
            major, minor = build_kernel.STABLE_ABI_VERSION
            platform = self.build_config.builder.get_best_matching_tag().rpartition("-")[2]
            build_data["tag"] = f"cp{major}{minor}-abi3-{platform}"

    def _add_sbom(self, build_data: dict[str, Any]) -> None:
        # TRACKLIGHT_WEB=skip leaves the page out, or one that an older version built.
        if not (third_party.STATIC / ".packages.json").exists():
            return
        core = self.metadata.core
        path = Path("build", "sbom", "tracklight.cdx.json")
        third_party.write_sbom(Path(self.root, path), self.metadata.version, core.dependencies)
        build_data["sbom_files"].append(path.as_posix())
