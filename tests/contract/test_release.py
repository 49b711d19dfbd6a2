"""A release is described completely: links, notices, bill of materials, wheels for all versions."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.contract.pages import ROOT
from tools import build_web, release, third_party
from tools.metadata_hook import (
    VARIABLE,
    get_repository,
    is_public,
    list_urls,
    parse_remote,
    render_readme,
)
from tools.third_party import Package

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

README = (ROOT / "README.md").read_text(encoding="utf-8")
NOTICES = third_party.NOTICES.read_text(encoding="utf-8")
REPOSITORY = "https://host.example/owner/tracklight"

_ENTRY = re.compile(r"^-{80}\n(\S+) (\S+) \((.+)\)\n-{80}$", re.MULTILINE)
#: A package that code of the page imports by name; types and styles are not in the build.
_IMPORT = re.compile(r"""^import (?!type\b)[^'"]*?['"]((?:@[\w-]+/)?[\w-]+)""", re.MULTILINE)


def read_pyproject() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


class TestReadme:
    """What an index page shows."""

    @pytest.mark.parametrize("repository", ["", REPOSITORY])
    def test_has_no_relative_links(self, repository: str) -> None:
        text = render_readme(README, repository)
        targets = re.findall(r"\]\(([^)]+)\)", text)
        assert [target for target in targets if not target.startswith("https://")] == []

    def test_links_and_images_are_absolute(self) -> None:
        text = "![a](docs/a.webp)\n[b](docs/b.md#c) [d](https://d.example) [e](#f)"
        assert render_readme(text, REPOSITORY) == (
            f"![a]({REPOSITORY}/raw/main/docs/a.webp)\n"
            f"[b]({REPOSITORY}/blob/main/docs/b.md#c) [d](https://d.example) [e](#f)"
        )

    def test_keeps_the_text_without_a_repository(self) -> None:
        text = "English | [x](y.md)\n\n![a](docs/a.webp)\n\nSee [b](docs/b.md) `[c]`."
        assert render_readme(text, "") == "See b `[c]`."

    def test_project_links_need_a_repository(self) -> None:
        assert list_urls("") == {}
        assert list_urls(REPOSITORY)["Source"] == REPOSITORY
        assert {"Changelog", "Documentation", "Issues"} <= set(list_urls(REPOSITORY))

    @pytest.mark.parametrize(
        ("host", "file", "image"),
        [
            ("host.example", "blob/main", "raw/main"),
            ("gitlab.example", "-/blob/main", "-/raw/main"),
            ("bitbucket.example", "src/main", "raw/main"),
            ("gitea.example", "src/branch/main", "raw/branch/main"),
        ],
    )
    def test_links_have_the_form_of_the_host(self, host: str, file: str, image: str) -> None:
        url = f"https://{host}/owner/tracklight"
        assert list_urls(url)["Changelog"] == f"{url}/{file}/CHANGELOG.md"
        assert render_readme("![a](a.webp) [b](b.md)", url) == (
            f"![a]({url}/{image}/a.webp) [b]({url}/{file}/b.md)"
        )

    def test_translation_has_the_same_parts(self) -> None:
        chinese = (ROOT / "README.zh-CN.md").read_text(encoding="utf-8")
        # Comments in code are translated.
        english, chinese = (re.sub(r" +# .*", "", text) for text in (README, chinese))
        for part in (
            r"^```(\w+)\n(.*?)^```",
            r"^(#+) ",
            r"^(- |\|)",
            r"`([^`\n]+)`",
            r"\]\(([^)#]+)",
        ):
            flags = re.MULTILINE | re.DOTALL
            english_parts = sorted(re.findall(part, english, flags))
            chinese_parts = sorted(re.findall(part, chinese, flags))
            if part.startswith(r"\]"):  # each links to the other
                english_parts.remove("README.zh-CN.md")
                chinese_parts.remove("README.md")
            assert chinese_parts == english_parts


class TestRepository:
    """Where the links of the package lead."""

    @pytest.fixture(autouse=True)
    def no_variable(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv(VARIABLE, raising=False)

    @pytest.fixture
    def clone(self, tmp_path: Path) -> Path:
        subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
        return tmp_path

    @pytest.mark.parametrize(
        "remote",
        [
            REPOSITORY,
            f"{REPOSITORY}.git",
            f"{REPOSITORY}/",
            "https://user:secret@HOST.example/owner/tracklight.git",
            "https://host.example:443/owner/tracklight",
            "git@host.example:owner/tracklight.git",
            "host.example:owner/tracklight",
            "ssh://git@host.example:2222/owner/tracklight.git",
        ],
    )
    def test_remotes_have_a_page(self, remote: str) -> None:
        assert parse_remote(remote) == REPOSITORY

    def test_keeps_another_port_of_https(self) -> None:
        assert parse_remote("https://a.example:8443/b/c.git") == "https://a.example:8443/b/c"

    @pytest.mark.parametrize(
        "remote",
        [
            *(
                "/srv/git/tracklight.git",
                "../tracklight",
                "file:///srv/tracklight",
                "C:\\tracklight",
            ),
            *(
                "http://host.example/a/b",
                "git://host.example/a/b",
                "https://host.example",
                "https:///a",
            ),
            *("https://[::1/a", "https://host.example:port/a", "https://host.example/a(b)", ""),
        ],
    )
    def test_other_remotes_have_none(self, remote: str) -> None:
        assert parse_remote(remote) is None

    def test_private_hosts_are_known_by_name(self) -> None:
        private = ("localhost", "server", "git.lab.internal", "nas.local", "127.0.0.1", "10.0.0.7")
        assert [host for host in private if is_public(host)] == []
        assert is_public("host.example") and is_public("9.9.9.9")

    def test_is_that_of_the_remote_origin(self, clone: Path) -> None:
        set_origin(clone, "git@host.example:owner/tracklight.git")
        assert get_repository(clone) == (REPOSITORY, "the remote origin")

    def test_ignores_rewritten_urls(self, clone: Path) -> None:
        set_origin(clone, REPOSITORY)
        rewrite = ["url.https://proxy.example/.insteadOf", "https://host.example/"]
        subprocess.run(["git", "-C", str(clone), "config", *rewrite], check=True)
        assert get_repository(clone).url == REPOSITORY

    def test_configured_url_comes_first_then_the_variable(
        self, clone: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        set_origin(clone, "https://host.example/fork/tracklight")
        monkeypatch.setenv(VARIABLE, f"{REPOSITORY}.git")
        assert get_repository(clone) == (REPOSITORY, VARIABLE)
        url, origin = get_repository(clone, "https://other.example/a/b/")
        assert (url, origin) == ("https://other.example/a/b", "`repository` in pyproject.toml")

    @pytest.mark.parametrize(
        ("remote", "reason"),
        [
            (None, "the clone has no remote named origin"),
            ("/srv/git/tracklight", "the remote origin is not an https or SSH URL"),
            ("ssh://git@nas.local/tracklight", '"nas.local", is not public'),
        ],
    )
    def test_says_why_there_is_none(self, clone: Path, remote: str | None, reason: str) -> None:
        if remote:
            set_origin(clone, remote)
        url, origin = get_repository(clone)
        assert url == "" and reason in origin

    def test_is_not_that_of_a_repository_around_the_sources(self, clone: Path) -> None:
        set_origin(clone, REPOSITORY)
        (clone / "unpacked").mkdir()
        assert get_repository(clone / "unpacked") == ("", "the source tree is not a git clone")

    def test_rejects_an_invalid_variable(
        self, clone: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv(VARIABLE, "tracklight")
        with pytest.raises(
            ValueError, match=f'{VARIABLE}: "tracklight" is not an https or SSH URL'
        ):
            get_repository(clone)

    @pytest.mark.parametrize("is_known", [True, False])
    def test_release_says_which_url_it_uses(
        self,
        is_known: bool,
        clone: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        if is_known:
            set_origin(clone, f"{REPOSITORY}.git")
        (clone / "pyproject.toml").write_text('repository = ""\n', encoding="utf-8")
        monkeypatch.setattr(release, "ROOT", clone)
        release.report_repository()
        printed = capsys.readouterr()
        if is_known:
            assert printed.out == f"release: links lead to {REPOSITORY}, from the remote origin\n"
        else:
            assert "the package has no links: the clone has no remote named origin" in printed.err


def set_origin(clone: Path, url: str) -> None:
    subprocess.run(["git", "-C", str(clone), "remote", "add", "origin", url], check=True)


class TestNotices:
    def test_notices_are_those_of_the_build(self) -> None:
        if build_web.is_stale() or not third_party.NODE_MODULES.exists():
            pytest.skip("the page is not built: make run")
        assert third_party.write_notices(third_party.read_bundled()) == NOTICES

    def test_every_imported_package_is_listed(self) -> None:
        imported = set()
        for path in (ROOT / "web" / "src").rglob("*"):
            if path.suffix in (".ts", ".svelte") and not path.name.endswith(".test.ts"):
                lines = re.sub(r"^\s+", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
                imported |= set(_IMPORT.findall(lines))
        imported -= {"vitest"}
        assert len(imported) >= 5
        assert imported - {name for name, _, _ in _ENTRY.findall(NOTICES)} == set()

    def test_versions_are_those_of_the_lock_file(self) -> None:
        lock = json.loads((ROOT / "web" / "package-lock.json").read_text(encoding="utf-8"))
        entries = _ENTRY.findall(NOTICES)
        locked = {
            name: lock["packages"][f"node_modules/{name}"]["version"] for name, _, _ in entries
        }
        assert {name: version for name, version, _ in entries} == locked

    def test_licenses_allow_redistribution(self) -> None:
        licenses = {license for _, _, license in _ENTRY.findall(NOTICES)}
        assert licenses <= {"MIT", "ISC", "BSD-3-Clause", "Apache-2.0", "0BSD"}

    def test_reads_all_license_files(self, tmp_path: Path) -> None:
        for name in ("LICENSE.md", "NOTICE", "readme.md"):
            (tmp_path / "pkg").mkdir(exist_ok=True)
            (tmp_path / "pkg" / name).write_text(f"text of {name}  \n", encoding="utf-8")
        text = third_party.write_notices([Package("pkg", "1.0", "MIT")], tmp_path)
        assert "pkg 1.0 (MIT)" in text
        assert "text of LICENSE.md\n" in text and "text of NOTICE\n" in text
        assert "readme" not in text

    def test_every_data_file_of_the_package_has_a_source(self) -> None:
        package = ROOT / "tracklight"
        files = {path for suffix in ("proto", "tsv") for path in package.rglob(f"*.{suffix}")}
        listed = {package / name for source in third_party.SOURCES for name in source.files}
        assert len(files) > 10
        assert files - listed == set()
        assert [path for path in listed if not path.is_file()] == []

    def test_sources_are_named_with_their_license(self) -> None:
        for source in third_party.SOURCES:
            assert f"\n{source.name}: {source.license}\n" in NOTICES
            # The text of the Apache License is in LICENSE.
            assert source.license == "Apache-2.0" or source.text
        assert "Idiap Research Institute (Ronan Collobert)" in NOTICES

    def test_operators_are_documented_by_the_named_projects(self) -> None:
        (path,) = (ROOT / "tracklight").rglob("op_docs.tsv")
        projects = {line.partition("\t")[0] for line in path.read_text("utf-8").splitlines()}
        sources = [it for it in third_party.SOURCES if any("op_docs" in name for name in it.files)]
        assert {it.name.lower().removeprefix("py") for it in sources} == projects

    def test_package_without_a_license_is_an_error(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError, match="no license file"):
            third_party.read_licenses(tmp_path)


def test_sbom_names_bundled_and_required_packages() -> None:
    lock = {"packages": {"node_modules/@a/b": {"version": "1.0.0", "integrity": "sha512-AAEC"}}}
    sbom = third_party.create_sbom(
        "0.1.0",
        ["numpy>=1.24; sys_platform != 'win32'", "numpy>=2.0", "markdown_it.py>=3"],
        [Package("@a/b", "1.0.0", "MIT"), Package("c", "2.0.0", "MIT OR ISC")],
        lock,
    )
    assert (sbom["bomFormat"], sbom["specVersion"]) == ("CycloneDX", "1.6")
    bundled, other, *sources, markdown, numpy = sbom["components"]
    assert [source["name"] for source in sources] == [it.name for it in third_party.SOURCES]
    assert bundled["purl"] == "pkg:npm/%40a/b@1.0.0"
    assert bundled["hashes"] == [{"alg": "SHA-512", "content": "000102"}]
    assert bundled["licenses"] == [{"license": {"id": "MIT"}}]
    assert other["licenses"] == [{"expression": "MIT OR ISC"}]
    assert [markdown["purl"], numpy["purl"]] == ["pkg:pypi/markdown-it-py", "pkg:pypi/numpy"]
    refs = {component["bom-ref"] for component in sbom["components"]}
    assert set(sbom["dependencies"][0]["dependsOn"]) == refs


def test_wheels_are_built_for_all_supported_versions() -> None:
    pyproject = read_pyproject()
    classifiers = pyproject["project"]["classifiers"]
    supported = sorted(
        int(found[1])
        for classifier in classifiers
        if (found := re.fullmatch(r"Programming Language :: Python :: 3\.(\d+)", classifier))
    )
    assert list(release.MINOR_VERSIONS) == supported
    assert pyproject["project"]["requires-python"] == f">=3.{supported[0]}"
    builds = pyproject["tool"]["cibuildwheel"]["build"]
    assert builds == [f"cp3{minor}-*" for minor in supported]


def test_finds_interpreters_that_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command of pyenv on PATH fails unless its version is selected, and is not used."""
    minor = sys.version_info.minor
    name = f"python3.{minor}"
    folder = tmp_path / "versions" / f"3.{minor}.1" / "bin"
    folder.mkdir(parents=True)
    (folder / name).symlink_to(sys.executable)
    (tmp_path / "bin").mkdir()
    for other in release.MINOR_VERSIONS:
        shim = tmp_path / "bin" / f"python3.{other}"
        shim.write_text("#!/bin/sh\nexit 127\n", encoding="ascii")
        shim.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    assert release.list_pythons() == [str(folder / name)]
    (folder / name).unlink()
    assert release.list_pythons() == [sys.executable]


def test_workflow_builds_on_all_systems() -> None:
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    jobs = yaml.safe_load(text)["jobs"]
    systems = {
        row["os"].partition("-")[0] for row in jobs["wheels"]["strategy"]["matrix"]["include"]
    }
    assert systems == {"ubuntu", "macos", "windows"}
    scripts = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"\bmake ([\w-]+)", "\n".join(scripts)):
        assert f"\n{target}:" in makefile
    script = pyproject_script()
    assert (ROOT / script).is_file()


def pyproject_script() -> str:
    command = read_pyproject()["tool"]["cibuildwheel"]["test-command"]
    assert command.startswith("python {package}/")
    return str(command).removeprefix("python {package}/")


@pytest.mark.parametrize("name", ["bug.yml", "feature.yml"])
def test_issue_templates_are_valid(name: str) -> None:
    path = ROOT / ".github" / "ISSUE_TEMPLATE" / name
    template = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert {"name", "description", "body"} <= set(template)
    for field in template["body"]:
        assert field["type"] in {"markdown", "textarea", "input", "dropdown"}
        assert "label" in field["attributes"] or field["type"] == "markdown"


def test_container_recipe_is_the_documented_one() -> None:
    page = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
    block = re.search(r"```dockerfile\n(.*?)```", page, re.DOTALL)
    assert block
    recipe = (ROOT / "Containerfile").read_text(encoding="utf-8")
    assert recipe.partition("\n")[2] == block[1]


def test_container_ignores_are_equal() -> None:
    # Docker and Podman read different files.
    docker, podman = ((ROOT / name).read_bytes() for name in (".dockerignore", ".containerignore"))
    assert docker == podman
