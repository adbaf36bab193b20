"""Files that the documentation shows can be read by what they are for; its links lead somewhere."""

import importlib.util
import json
import re
from pathlib import Path

import jsonschema
import pytest
from ruamel.yaml import YAML

PROJECT = Path(__file__).parents[2]
PAGES = [PROJECT / "README.md", *sorted((PROJECT / "docs").glob("*.md"))]


def shown(page):
    blocks = re.findall(r"^```yaml\n(.*?)^```", (PROJECT / "docs" / page).read_text(), re.MULTILINE | re.DOTALL)
    return [YAML(typ="safe", pure=True).load(block) for block in blocks]


def test_files_for_clusters_are_as_ray_takes_them():
    launcher, job = shown("cluster.md")
    ray = Path(importlib.util.find_spec("ray").origin).parent
    jsonschema.validate(launcher, json.loads((ray / "autoscaler" / "ray-schema.json").read_text()))
    assert launcher["head_node_type"] in launcher["available_node_types"]
    assert job["kind"] == "RayJob"
    pinned = re.search(r"^ray==(.*)$", (PROJECT / "requirements.lock").read_text(), re.MULTILINE).group(1)
    assert job["spec"]["rayClusterSpec"]["rayVersion"] == pinned


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text())
    local = [link for link in links if "://" not in link]
    assert [link for link in local if not (page.parent / link).exists()] == []
