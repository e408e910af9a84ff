"""The report's folder: what the dashboard needs of it, and what it says of the shops."""

import json
import re
from pathlib import Path

from examples.retail.simulator.shops import CITIES

REPORT = Path(__file__).parents[3] / "examples" / "retail" / "report"


def test_the_report_is_a_folder_that_the_dashboard_can_show():
    assert json.loads((REPORT / "report.json").read_text())["title"] == "Retail"
    assert "export async function show(element, api)" in (REPORT / "report.js").read_text()
    assert (REPORT / "report.css").is_file()


def test_the_map_has_the_cities_of_the_shops_in_their_order():
    listed = re.findall(r'^  (?:"([^"]+)"|(\w+)): \[', (REPORT / "cities.js").read_text(), re.MULTILINE)
    assert tuple(quoted or plain for quoted, plain in listed) == CITIES


def test_the_report_loads_nothing_from_elsewhere_and_parses_no_html():
    for path in REPORT.iterdir():
        text = path.read_text()
        assert not re.search(r"https?://|innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", text), path
        if path.suffix == ".js":  # the policy allows no style attributes
            assert not re.search(r'\bstyle: (?!"currency")|setAttribute\("style"', text), path
